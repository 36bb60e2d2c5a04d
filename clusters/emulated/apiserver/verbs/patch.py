"""PATCH in its four content types. Each makes a new object from the current one; the rest is an update."""

from __future__ import annotations

from typing import Any

import orjson

from clusters.emulated.apiserver.media import body as bodies
from clusters.emulated.apiserver.media import yaml_text
from clusters.emulated.apiserver.options import APPLY, WriteOptions, write_options
from clusters.emulated.apiserver.registry.served import Served
from clusters.emulated.apiserver.registry.stored import Stored
from clusters.emulated.apiserver.request import Request
from clusters.emulated.apiserver.verbs.update import check_name
from clusters.emulated.apiserver.verbs.write import Writer, expected_namespace, match_namespace
from clusters.emulated.clock.clock import rfc3339
from clusters.kube import errors, gojson
from clusters.kube.apply import managed_fields
from clusters.kube.field import invalid
from clusters.kube.gostring import quote, to_json
from clusters.kube.patch import conversion, json_patch, merge_patch, strategic
from clusters.kube.patch.errors import PatchError, go_value
from clusters.kube.schema import DecodeError

Object = dict[str, Any]

JSON = "application/json-patch+json"
MERGE = "application/merge-patch+json"
STRATEGIC = "application/strategic-merge-patch+json"
JSON_PATCH_OPERATIONS_MAX = 10_000


async def patch(request: Request, served: Served, writer: Writer) -> tuple[Stored, bool]:
    """(the object as stored, whether an apply created it)."""
    kind = bodies.media_type(request)
    supported = (JSON, MERGE, STRATEGIC, APPLY) if served.struct is not None else (JSON, MERGE, APPLY)
    if kind not in supported:
        if kind in (JSON, MERGE, STRATEGIC, APPLY):
            raise bodies.unsupported_media_type(", ".join(supported))
        raise errors.StatusError(415, "UnsupportedMediaType", "415: Unsupported Media Type", {})
    data = bodies.raw_body(request)
    options = write_options(request.query, "PatchOptions", patch_type=kind)
    name = request.info.name
    namespace = expected_namespace(request, served)
    mechanism = _Apply if kind == APPLY else _Strategic if kind == STRATEGIC else _Json
    patcher = mechanism(request, served, writer, data, options, kind)

    async def patched(old: Object | None) -> Object:
        obj = patcher.make(old)
        if old is None and obj["metadata"].get("uid"):
            uid = obj["metadata"]["uid"]
            why = f"uid mismatch: the provided object specified uid {uid}, and no existing object was found"
            raise errors.conflict(request.info.group_resource, name, why)
        match_namespace(obj["metadata"], namespace)
        check_name(obj, name, namespace)
        return await writer.admit_update(request, served, obj, old, options)

    return await writer.update(request, served, name, patched, options, may_create=kind == APPLY)


class _Mechanism:
    def __init__(
        self, request: Request, served: Served, writer: Writer, data: bytes, options: WriteOptions, kind: str
    ) -> None:
        self.request = request
        self.served = served
        self.writer = writer
        self.data = data
        self.options = options
        self.kind = kind
        self.strict = options.field_validation != "Ignore"

    def make(self, old: Object | None) -> Object:
        raise NotImplementedError

    def _duplicates(self, change: Any) -> list[str]:
        if not self.strict:
            return []
        return [f"duplicate field {quote(path)}" for path in gojson.duplicate_fields(self.data, change)]

    def decoded(self, patched: Any, shown: str, problems: list[str]) -> Object:
        """The patched document as an object; what does not fit is a 422 that shows the document."""
        try:
            obj, unknown = self.served.decode(patched)
        except DecodeError as error:
            raise _invalid_patch(shown, error.text) from None
        if len(unknown) > 1 and self.kind != STRATEGIC:
            # They are reported in the order of the document shown.
            _, unknown = self.served.decode(gojson.loads(shown.encode()))
        problems = problems + unknown
        if problems and self.options.field_validation == "Strict":
            raise _invalid_patch(shown, f"strict decoding error: {', '.join(problems)}")
        if self.options.field_validation == "Warn":
            for problem in problems:
                self.request.warn(problem)
        return obj


class _Json(_Mechanism):
    """JSON patch and JSON merge patch: both work on the JSON text of the object."""

    def make(self, old: Object | None) -> Object:
        if old is None:
            raise errors.not_found(self.request.info.group_resource, self.request.info.name)
        document = self.served.to_version(old)
        change = self._parsed()
        try:
            if self.kind == JSON:
                operations, problems = json_patch.operations(change, strict=self.strict)
                if len(operations) > JSON_PATCH_OPERATIONS_MAX:
                    raise errors.too_large(
                        f"The allowed maximum operations in a JSON patch is {JSON_PATCH_OPERATIONS_MAX}, "
                        f"got {len(operations)}"
                    )
                patched = json_patch.apply(document, operations)
                touched: Any = _touched(operations)
            else:
                patched = merge_patch.apply(document, change, strict=self.strict)
                problems = self._duplicates(change)
                touched = change
        except PatchError as error:
            raise error.status_error() from None
        shown = _shown(patched, touched) if self.served.struct is not None else _sorted(patched)
        if self.served.struct is not None and isinstance(patched, dict):
            self._check_kind(patched, shown)
        obj = self.decoded(patched, shown, problems)
        return self.writer.own_fields(self.request, self.served, old, obj, self.options)

    def _check_kind(self, patched: Object, shown: str) -> None:
        """A patch cannot make another kind of an object."""
        resource = self.served.resource
        version, kind = patched.get("apiVersion") or resource.group_version, patched.get("kind") or resource.kind
        why = bodies.wrong_kind(resource, str(version), str(kind), self.writer.services.catalogue)
        if why is not None:
            raise _invalid_patch(shown, why)

    def _parsed(self) -> Any:
        try:
            return gojson.loads(self.data)
        except gojson.JsonError as error:
            prefix = "error decoding patch: " if self.strict else ""
            raise errors.bad_request(f"{prefix}{error}") from None


class _Strategic(_Mechanism):
    def make(self, old: Object | None) -> Object:
        if old is None:
            raise errors.not_found(self.request.info.group_resource, self.request.info.name)
        struct = self.served.struct
        assert struct is not None
        try:
            change = gojson.loads(self.data)
        except gojson.JsonError as error:
            raise errors.bad_request(str(error)) from None
        try:
            patched = strategic.apply(self.served.to_version(old), change, struct)
        except PatchError as error:
            raise error.status_error() from None
        shown = go_value(change)
        problem = conversion.problem(struct, patched)
        if problem is not None:
            raise _invalid_patch(shown, problem)
        obj = self.decoded(patched, shown, self._duplicates(change))
        return self.writer.own_fields(self.request, self.served, old, obj, self.options)


class _Apply(_Mechanism):
    """Server-side apply: the body is what the manager wants to own, not the whole object."""

    def make(self, old: Object | None) -> Object:
        try:
            applied = yaml_text.loads(self.data)
        except yaml_text.YamlError as error:
            raise errors.bad_request(f"error decoding YAML: error converting YAML to JSON: {error}") from None
        if applied is None:
            applied = {}
        elif not isinstance(applied, dict):
            raise errors.bad_request(
                "error decoding YAML: error unmarshaling JSON: while decoding JSON: json: cannot unmarshal "
                f"{_json_type(applied)} into Go value of type map[string]interface {{}}"
            )
        live = None if old is None else self.served.to_version(old)
        merged = managed_fields.apply(
            live,
            applied,
            self.options.field_manager,
            bool(self.options.force),
            schema=self.served.apply_type,
            api_version=self.served.resource.group_version,
            kind=self.served.resource.kind,
            subresource=self.request.info.subresource,
            now=rfc3339(self.writer.services.clock.now_s()),
            reset_fields=self.served.reset_filter(self.request.info.subresource),
            convert=self.writer.services.converter(self.served),
        )
        if self.strict:
            self._report_duplicates()
        try:
            obj, _ = self.served.decode(merged)
        except DecodeError as error:
            raise errors.unknown(error.text) from None
        return obj

    def _report_duplicates(self) -> None:
        try:
            yaml_text.loads(self.data, strict=True)
        except yaml_text.DuplicateKey as error:
            if self.options.field_validation == "Strict":
                raise errors.bad_request(f"error strict decoding YAML: {error}") from None
            self.request.warn(str(error).rpartition("\n")[2].strip())


def _json_type(value: Any) -> str:
    if isinstance(value, bool):
        return "bool"
    return "string" if isinstance(value, str) else "array" if isinstance(value, list) else "number"


def _touched(operations: Any) -> Object:
    """The maps that a JSON patch goes into, as a tree."""
    tree: Object = {}
    for operation in operations:
        at = tree
        for step in str(operation.get("path", "")).split("/")[1:-1]:
            at = at.setdefault(step, {})
    return tree


def _invalid_patch(shown: str, why: str) -> errors.StatusError:
    return errors.invalid("", "", [invalid("patch", shown, why)])


def _sorted(patched: Any) -> str:
    return orjson.dumps(patched, option=orjson.OPT_SORT_KEYS).decode()


def _shown(patched: Any, change: Any) -> str:
    """The patched document as the error shows it: maps that the patch touched come out sorted."""
    if not isinstance(patched, dict):
        return orjson.dumps(patched).decode()
    touched = change if isinstance(change, dict) else {}
    parts = []
    for key in sorted(patched):
        value = patched[key]
        if isinstance(value, dict) and isinstance(touched.get(key), dict):
            text = _shown(value, touched[key])
        else:
            text = orjson.dumps(value).decode()
        parts.append(f"{to_json(key)}:{text}")
    return "{" + ",".join(parts) + "}"
