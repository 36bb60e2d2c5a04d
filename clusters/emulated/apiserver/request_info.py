"""What a method and a URL ask for, read as the api-server reads it before anything else happens.

>>> info = request_info("GET", "/apis/apps/v1/namespaces/shop/deployments", {"watch": ["1"]})
>>> info.verb, info.group, info.namespace, info.resource
('watch', 'apps', 'shop', 'deployments')
"""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import unquote

from clusters.emulated.apiserver.request import RequestInfo
from clusters.kube import fieldselectors, selectors
from clusters.kube.names import path_segment_name

Query = Mapping[str, list[str]]

_VERBS = {
    "GET": "get", "HEAD": "get", "POST": "create", "PUT": "update", "PATCH": "patch", "DELETE": "delete",
}  # fmt: skip
# These follow a namespace's name without being a resource inside the namespace.
_NAMESPACE_SUBRESOURCES = frozenset(("status", "finalize"))
_INT64_END = 1 << 63


class RequestInfoError(ValueError):
    """The URL names no resource where it must; the answer is a plain-text 500 with this message."""


def request_info(method: str, path: str, query: Query) -> RequestInfo:
    """`path` may still be percent-encoded, `query` is decoded. Names are not validated here."""
    if "%" in path:
        path = unquote(path)
    trimmed = path.strip("/")
    parts = trimmed.split("/")
    count = len(parts)
    if count < 3:
        return RequestInfo(False, path, method.lower())
    prefix = parts[0]
    if prefix == "api":
        group, version, start = "", parts[1], 2
    elif prefix == "apis":
        if count < 4:
            return RequestInfo(False, path, method.lower(), prefix)
        group, version, start = parts[1], parts[2], 3
    else:
        return RequestInfo(False, path, method.lower())

    first = parts[start]
    verb_in_path = first == "watch" or first == "proxy"
    if verb_in_path:
        start += 1
        if start == count:
            raise RequestInfoError(f"unable to determine kind and namespace from url, {path}")
        verb, first = first, parts[start]
    else:
        verb = _VERBS.get(method, "")

    namespace = ""
    if first == "namespaces" and start + 1 < count:
        namespace = parts[start + 1]
        # A namespace is in the namespace of its own name; only what follows the name can be inside it.
        if start + 2 < count and parts[start + 2] not in _NAMESPACE_SUBRESOURCES:
            start += 2
    rest = tuple(parts[start:])
    length = len(rest)
    name = rest[1] if length > 1 else ""
    info = RequestInfo(
        True,
        path,
        verb,
        prefix,
        group,
        version,
        namespace,
        rest[0],
        rest[2] if length > 2 and verb != "proxy" else "",
        name,
        rest,
    )
    if not name:
        if verb == "get":
            _read_list_options(info, query)
        elif verb == "delete":
            info.verb = "deletecollection"
    if query and not verb_in_path and info.verb in ("list", "watch", "deletecollection"):
        info.field_selector = _first(query, "fieldSelector")
        info.label_selector = _first(query, "labelSelector")
    return info


def _read_list_options(info: RequestInfo, query: Query) -> None:
    """A get without a name is a list or a watch; a selector for one name makes it about that object."""
    info.verb = "list"
    if not query:
        return
    watch = query.get("watch")
    if watch and watch[0].lower() not in ("false", "0"):
        info.verb = "watch"
    selector = _first(query, "fieldSelector")
    if "metadata.name" not in selector or not _options_readable(query):
        return
    wanted = fieldselectors.parse(selector).exact("metadata.name")
    if wanted is not None and not path_segment_name(wanted):
        info.name = wanted


def _options_readable(query: Query) -> bool:
    """Options that do not decode as a whole are ignored as a whole; the handler complains about them later."""
    if not (_is_int64(query.get("timeoutSeconds")) and _is_int64(query.get("limit"))):
        return False
    try:
        fieldselectors.parse(_first(query, "fieldSelector"))
        selectors.parse(_first(query, "labelSelector"))
    except selectors.SelectorError:
        return False
    return True


def _is_int64(values: list[str] | None) -> bool:
    if not values:
        return True
    digits = values[0][1:] if values[0][:1] in ("+", "-") else values[0]
    return digits.isascii() and digits.isdigit() and -_INT64_END <= int(values[0]) < _INT64_END


def _first(query: Query, name: str) -> str:
    values = query.get(name)
    return values[0] if values else ""
