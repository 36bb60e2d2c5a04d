"""The paths of one group version: every operation on every resource, in the form of OpenAPI v3.

>>> item = paths_of(resources, schemas)["/apis/apps/v1/namespaces/{namespace}/deployments"]
>>> item["post"]["operationId"], item["post"]["x-kubernetes-action"]
('createAppsV1NamespacedDeployment', 'post')
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from clusters.emulated.apiserver.openapi.schemas import META, Schemas
from clusters.emulated.apiserver.registry.resources import Resource, Subresource

Object = dict[str, Any]

_FORMS = ("application/json", "application/vnd.kubernetes.protobuf", "application/yaml")
_STREAMS = (
    "application/json", "application/json;stream=watch", "application/vnd.kubernetes.protobuf",
    "application/vnd.kubernetes.protobuf;stream=watch", "application/yaml",
)  # fmt: skip
_CUSTOM_FORMS = ("application/json", "application/yaml")
_PATCHES = (
    "application/apply-patch+yaml", "application/json-patch+json", "application/merge-patch+json",
    "application/strategic-merge-patch+json",
)  # fmt: skip
_LIST = (
    "allowWatchBookmarks", "continue", "fieldSelector", "labelSelector", "limit", "resourceVersion",
    "resourceVersionMatch", "sendInitialEvents", "shardSelector", "timeoutSeconds", "watch",
)  # fmt: skip
_WRITE = ("dryRun", "fieldManager", "fieldValidation")
_PATCH = ("dryRun", "patch.fieldManager", "fieldValidation", "force")
_DELETE = (
    "dryRun", "gracePeriodSeconds", "ignoreStoreReadErrorWithClusterBreakingPotential", "orphanDependents",
    "propagationPolicy",
)  # fmt: skip
_DELETE_COLLECTION = (*_DELETE, *(name for name in _LIST if name not in ("allowWatchBookmarks", "watch")))
_DESCRIPTIONS = {200: "OK", 201: "Created", 202: "Accepted"}
# Subresources that are connected to instead of read: which methods they take, and their options' kind.
_CONNECT_METHODS = {
    "attach": ("get", "post"), "exec": ("get", "post"), "portforward": ("get", "post"),
    "proxy": ("get", "put", "post", "delete", "options", "head", "patch"),
}  # fmt: skip
_CONNECT_PARAMETERS = {
    "attach": ("container", "stderr", "stdin", "stdout", "tty"),
    "exec": ("command", "container", "stderr", "stdin", "stdout", "tty"),
    "portforward": ("ports",),
}
_LOG_PARAMETERS = (
    "container", "follow", "insecureSkipTLSVerifyBackend", "limitBytes", "previous", "sinceSeconds", "stream",
    "tailLines", "timestamps",
)  # fmt: skip
_DEPRECATED = "deprecated: use the 'watch' parameter with a list operation instead"


@dataclass(slots=True)
class _Operation:
    method: str
    body: Object
    parameters: dict[tuple[str, str], Object] = field(default_factory=dict)


def paths_of(resources: Sequence[Resource], schemas: Schemas) -> dict[str, Object]:
    """Every path of these resources, which are of one group version."""
    return _Builder(resources[0], schemas).build(resources)


class _Builder:
    def __init__(self, any_resource: Resource, schemas: Schemas) -> None:
        self.schemas = schemas
        group, version = any_resource.group, any_resource.version
        self.root = f"/apis/{group}/{version}" if group else f"/api/{version}"
        self.title = group_title(group) + version.title()
        self.tags = [f"{group_tag(group)}_{version}"]
        self.paths: dict[str, list[_Operation]] = {}

    def build(self, resources: Sequence[Resource]) -> dict[str, Object]:
        if not self.schemas.is_custom(resources[0]):
            self._discovery()
        for resource in resources:
            self._resource(resource)
            for sub in resource.subresources:
                self._subresource(resource, sub)
        return {path: _path_item(self.paths[path]) for path in sorted(self.paths)}

    def _discovery(self) -> None:
        listing = _response(self.schemas.refer(f"{META}.APIResourceList"), _FORMS)
        body = {
            "tags": self.tags,
            "description": "get available resources",
            "operationId": f"get{self.title}APIResources",
            "responses": {"200": listing, "401": {"description": "Unauthorized"}},
        }
        self.paths[f"{self.root}/"] = [_Operation("get", body)]

    def _resource(self, resource: Resource) -> None:
        forms = self._forms(resource)
        kind, verbs = resource.kind, resource.verbs
        gvk = (resource.group, resource.version, kind)
        schema = self.schemas.kind(*gvk)
        many = self.schemas.kind(resource.group, resource.version, resource.list_kind)
        scope = "Namespaced" if resource.namespaced else ""
        where = f"{self.root}/namespaces/{{namespace}}" if resource.namespaced else self.root
        collection, single = f"{where}/{resource.plural}", f"{where}/{resource.plural}/{{name}}"
        streams = _STREAMS if forms is _FORMS else forms
        noun = _with_article(kind)

        def add(path: str, method: str, action: str, id: str, text: str, names: Sequence[str], **more: Any) -> None:
            self._add(path, method, action, id, text, gvk, names, **more)

        custom = forms is _CUSTOM_FORMS
        reading = "list or watch" if "watch" in verbs and not custom else "list"
        if "list" in verbs:
            listed = {"responses": {200: many}, "forms": streams}
            text = f"{reading} objects of kind {kind}"
            add(collection, "get", "list", f"list#{scope}{kind}", text, _LIST, **listed)
            if resource.namespaced:
                everywhere = f"{self.root}/{resource.plural}"
                add(everywhere, "get", "list", f"list#{kind}ForAllNamespaces", text, _LIST, **listed)
        if "create" in verbs:
            answers = {200: schema, 201: schema, 202: schema}
            more: Object = {"responses": answers, "takes": schema, "forms": forms}
            add(collection, "post", "post", f"create#{scope}{kind}", f"create {noun}", _WRITE, **more)
        if "deletecollection" in verbs:
            status = self.schemas.refer(f"{META}.Status")
            more = {"responses": {200: status}, "takes_options": not custom, "forms": forms}
            text = f"delete collection of {kind}"
            add(collection, "delete", "deletecollection", f"delete#Collection{scope}{kind}", text,
                _LIST if custom else _DELETE_COLLECTION, **more)  # fmt: skip
        self._single(single, gvk, verbs, f"{scope}{kind}", "the specified " + kind, noun, schema, forms,
                     returns_deleted=self.schemas.returns_deleted(resource))  # fmt: skip
        if "watch" in verbs:
            self._watch(resource, scope, kind, gvk, streams)

    def _single(
        self, path: str, gvk: tuple[str, str, str], verbs: Sequence[str], id: str, what: str, noun: str,
        schema: Object, forms: Sequence[str], *, returns_deleted: bool = False,
    ) -> None:  # fmt: skip
        def add(method: str, action: str, verb: str, text: str, parameters: Sequence[str], **more: Any) -> None:
            self._add(path, method, action, f"{verb}#{id}", text, gvk, parameters, forms=forms, **more)

        custom = forms is _CUSTOM_FORMS
        if "get" in verbs:
            add("get", "get", "read", f"read {what}", ("resourceVersion",) if custom else (), responses={200: schema})
        if "update" in verbs:
            more: Object = {"responses": {200: schema, 201: schema}, "takes": schema}
            add("put", "put", "replace", f"replace {what}", _WRITE, **more)
        if "delete" in verbs:
            answer = schema if returns_deleted else self.schemas.refer(f"{META}.Status")
            more = {"responses": {200: answer, 202: answer}, "takes_options": True}
            add("delete", "delete", "delete", f"delete {noun}", _DELETE, **more)
        if "patch" in verbs:
            more = {"responses": {200: schema} if custom else {200: schema, 201: schema}, "patches": True}
            add("patch", "patch", "patch", f"partially update {what}", _PATCH, **more)

    def _watch(
        self, resource: Resource, scope: str, kind: str, gvk: tuple[str, str, str], streams: Sequence[str]
    ) -> None:
        if not self.schemas.has_watch_paths(resource):
            return
        event = self.schemas.refer(f"{META}.WatchEvent")
        base = f"{self.root}/watch"
        where = f"{base}/namespaces/{{namespace}}" if resource.namespaced else base
        many = f"watch individual changes to a list of {kind}. {_DEPRECATED}."
        one = (
            f"watch changes to an object of kind {kind}. {_DEPRECATED}, filtered to a single item with the "
            "'fieldSelector' parameter."
        )
        more: Object = {"responses": {200: event}, "forms": streams}
        collection = f"{where}/{resource.plural}"
        self._add(collection, "get", "watchlist", f"watch#{scope}{kind}List", many, gvk, _LIST, **more)
        if resource.namespaced:
            everywhere = f"{base}/{resource.plural}"
            self._add(everywhere, "get", "watchlist", f"watch#{kind}ListForAllNamespaces", many, gvk, _LIST, **more)
        if "get" in resource.verbs:
            self._add(f"{collection}/{{name}}", "get", "watch", f"watch#{scope}{kind}", one, gvk, _LIST, **more)

    def _subresource(self, resource: Resource, sub: Subresource) -> None:
        scope = "Namespaced" if resource.namespaced else ""
        where = f"{self.root}/namespaces/{{namespace}}" if resource.namespaced else self.root
        path = f"{where}/{resource.plural}/{{name}}/{sub.name}"
        kind = resource.kind
        id = f"{scope}{kind}{sub.name.title()}"
        group, version, sub_kind = sub.kind
        gvk = (group, version, sub_kind) if version else (resource.group, resource.version, sub_kind or kind)
        forms = self._forms(resource)
        if sub.name in _CONNECT_METHODS:
            self._connect(path, resource, sub, gvk)
            return
        if sub.name == "log":
            text = {"type": "string"}
            self._add(path, "get", "get", f"read#{id}", f"read log of the specified {kind}", gvk,
                      [f"log.{name}" for name in _LOG_PARAMETERS],
                      responses={200: text}, forms=(*_FORMS, "text/plain"))  # fmt: skip
            return
        schema = self.schemas.kind(*gvk)
        if forms is _CUSTOM_FORMS:  # All of a custom resource's operations are said to be about its own kind.
            gvk = (resource.group, resource.version, kind)
        if "create" in sub.verbs:
            answers = {200: schema, 201: schema, 202: schema}
            self._add(path, "post", "post", f"create#{id}", f"create {sub.name} of {_with_article(kind)}", gvk,
                      _WRITE, responses=answers, takes=schema, forms=forms)  # fmt: skip
        self._single(path, gvk, sub.verbs, id, f"{sub.name} of the specified {kind}", "", schema, forms)

    def _connect(self, path: str, resource: Resource, sub: Subresource, gvk: tuple[str, str, str]) -> None:
        scope = "Namespaced" if resource.namespaced else ""
        name = sub.name
        if name == "proxy":
            parameters = [f"path.{resource.plural}"]
        else:
            parameters = [f"{name}.{each}" for each in _CONNECT_PARAMETERS[name]]
        for suffix, tail in (("", ""), ("WithPath", "/{path}")) if name == "proxy" else (("", ""),):
            for method in _CONNECT_METHODS[name]:
                verb = f"connect#{method.title()}{scope}{resource.kind}{name.title()}{suffix}"
                text = f"connect {method.upper()} requests to {name} of {resource.kind}"
                more: Object = {"responses": {200: {"type": "string"}}, "forms": ("*/*",), "pretty": False}
                self._add(path + tail, method, "connect", verb, text, gvk, parameters, **more)

    def _forms(self, resource: Resource) -> Sequence[str]:
        return _CUSTOM_FORMS if self.schemas.is_custom(resource) else _FORMS

    def _add(
        self, path: str, method: str, action: str, id: str, text: str, gvk: tuple[str, str, str],
        parameters: Sequence[str], *, responses: dict[int, Object], forms: Sequence[str],
        takes: Object | None = None, takes_options: bool = False, patches: bool = False, pretty: bool = True,
    ) -> None:  # fmt: skip
        verb, _, rest = id.partition("#")
        body: Object = {"tags": self.tags, "description": text, "operationId": f"{verb}{self.title}{rest}"}
        custom = forms is _CUSTOM_FORMS
        if patches:
            patch = self.schemas.refer(f"{META}.Patch")
            kinds: Sequence[str] = _PATCHES[:3] if custom else _PATCHES
            body["requestBody"] = {"content": {each: {"schema": patch} for each in kinds}, "required": True}
        elif takes is not None:
            kinds = _CUSTOM_FORMS if custom else ("*/*",)
            body["requestBody"] = {"content": {each: {"schema": takes} for each in kinds}, "required": True}
        elif takes_options:
            options = self.schemas.refer(f"{META}.DeleteOptions")
            kinds = _CUSTOM_FORMS if custom else ("*/*",)
            body["requestBody"] = {"content": {each: {"schema": options} for each in kinds}}
        answers: Object = {str(code): _response(schema, forms, code) for code, schema in responses.items()}
        answers["401"] = {"description": "Unauthorized"}
        body["responses"] = answers
        body["x-kubernetes-action"] = action
        group, version, kind = gvk
        body["x-kubernetes-group-version-kind"] = {"group": group, "version": version, "kind": kind}
        operation = _Operation(method, body)
        names = list(parameters)
        if pretty:
            names.append("pretty")
        if "{namespace}" in path:
            names.append("namespace")
        if "{path}" in path:
            names.append("path.url")
        for name in names:
            parameter = self.schemas.parameter(name)
            operation.parameters[parameter["name"], parameter["in"]] = parameter
        if "{name}" in path:
            operation.parameters["name", "path"] = {
                "name": "name",
                "in": "path",
                "description": f"name of the {kind}",
                "required": True,
                "schema": {"type": "string", "uniqueItems": True},
            }
        self.paths.setdefault(path, []).append(operation)


_METHOD_ORDER = ("get", "put", "post", "delete", "options", "head", "patch")


def _path_item(operations: Sequence[_Operation]) -> Object:
    """Parameters that all operations of a path have alike belong to the path."""
    first = operations[0].parameters
    shared = {
        key: parameter
        for key, parameter in first.items()
        if all(each.parameters.get(key) == parameter for each in operations)
    }
    item: Object = {}
    for operation in sorted(operations, key=lambda each: _METHOD_ORDER.index(each.method)):
        body = operation.body
        own = [parameter for key, parameter in sorted(operation.parameters.items()) if key not in shared]
        if own:
            head = {key: body[key] for key in ("tags", "description", "operationId")}
            body = {**head, "parameters": own, **body}
        item[operation.method] = body
    if shared:
        item["parameters"] = [parameter for _, parameter in sorted(shared.items())]
    return item


def _response(schema: Object, forms: Sequence[str], code: int = 200) -> Object:
    return {"description": _DESCRIPTIONS[code], "content": {form: {"schema": schema} for form in forms}}


def group_title(group: str) -> str:
    """`rbac.authorization.k8s.io` is RbacAuthorization in operation ids, the core group is Core."""
    words = group.removesuffix(".k8s.io").split(".") if group else ["core"]
    return "".join(word[:1].upper() + word[1:] for word in words)


def group_tag(group: str) -> str:
    title = group_title(group)
    return title[:1].lower() + title[1:]


def _with_article(kind: str) -> str:
    """`an Ingress`, `a Pod`, `Endpoints`: what looks like a plural has none."""
    if kind.endswith("s") and not kind.endswith("ss"):
        return kind
    return f"an {kind}" if kind[:1] in "AEIOU" else f"a {kind}"
