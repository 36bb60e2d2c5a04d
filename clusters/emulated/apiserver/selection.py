"""Which objects a LIST or WATCH is about: label selector and field selector, compiled once per request."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from clusters.emulated.apiserver.options import ListOptions
from clusters.emulated.apiserver.registry.served import Served
from clusters.kube import errors, fieldselectors, selectors
from clusters.kube.gostring import quote

Object = dict[str, Any]
_METADATA_FIELDS = ("metadata.name", "metadata.namespace")
_NO_LABELS: dict[str, str] = {}


class Selection:
    """`matches` is None when everything matches; `name` is set when the field selector asks for one object."""

    __slots__ = ("matches", "name", "namespace")

    def __init__(self, matches: Callable[[Object], bool] | None, name: str | None, namespace: str | None) -> None:
        self.matches = matches
        self.name = name
        self.namespace = namespace

    @staticmethod
    def of(served: Served, options: ListOptions) -> Selection:
        if not options.label_selector and not options.field_selector:
            return _EVERYTHING
        try:
            labels = selectors.parse(options.label_selector)
            fields = fieldselectors.parse(options.field_selector)
        except selectors.SelectorError as error:
            raise errors.bad_request(str(error)) from None
        _check_fields(served, fields)
        return Selection(
            _compile(served, labels, fields), fields.exact("metadata.name"), fields.exact("metadata.namespace")
        )

    def named(self, name: str) -> Selection:
        """Narrowed to one name, for a watch on a single object's URL."""
        inner = self.matches

        def matches(obj: Object) -> bool:
            return obj["metadata"]["name"] == name and (inner is None or inner(obj))

        return Selection(matches, name, self.namespace)


_EVERYTHING = Selection(None, None, None)


def _check_fields(served: Served, fields: fieldselectors.FieldSelector) -> None:
    known = served.rules.selectable_fields({"metadata": {}})
    for term in fields.terms:
        if served.struct is None and term.field == "metadata.namespace" and not served.resource.namespaced:
            raise errors.bad_request(_unsupported(served, term.field))
        if term.field not in _METADATA_FIELDS and term.field not in known:
            if known or served.struct is None:
                raise errors.bad_request(_unsupported(served, term.field))
            raise errors.bad_request(
                f'{quote(term.field)} is not a known field selector: only "metadata.name", "metadata.namespace"'
            )


_PLAINLY_REFUSED = ("certificatesigningrequests", "events")
_REFUSED_BY_DEFAULT = ("ipaddresses", "replicasets")


def _unsupported(served: Served, field: str) -> str:
    """The kinds with fields of their own each have their own words."""
    resource = served.resource
    if served.struct is None or not resource.group or resource.plural in _PLAINLY_REFUSED:
        return f"field label not supported: {field}"
    if resource.plural in _REFUSED_BY_DEFAULT:
        return f'{quote(field)} is not a known field selector: only "metadata.name", "metadata.namespace"'
    if resource.group == "resource.k8s.io":
        return f"field label not supported for {resource.group_version}, Kind={resource.kind}: {field}"
    return f"field label {quote(field)} not supported for {resource.kind}"


def _compile(
    served: Served, labels: selectors.Selector, fields: fieldselectors.FieldSelector
) -> Callable[[Object], bool]:
    label_matches = None if labels.empty else labels.matches
    metadata_only = all(term.field in _METADATA_FIELDS for term in fields.terms)
    selectable = served.rules.selectable_fields

    def matches(obj: Object) -> bool:
        metadata = obj["metadata"]
        if label_matches is not None and not label_matches(metadata.get("labels") or _NO_LABELS):
            return False
        if fields.empty:
            return True
        values = {} if metadata_only else dict(selectable(obj))
        values["metadata.name"] = metadata.get("name", "")
        values["metadata.namespace"] = metadata.get("namespace", "")
        return fields.matches(values)

    return matches
