"""Reading a request's body into an object of the served kind, refusing it in Kubernetes' words."""

from __future__ import annotations

from typing import Any

from clusters.emulated.apiserver.media import yaml_text
from clusters.emulated.apiserver.registry.resources import Resource
from clusters.emulated.apiserver.registry.served import Served
from clusters.emulated.apiserver.request import Request
from clusters.kube import errors, gojson
from clusters.kube.gostring import quote
from clusters.kube.schema import Catalogue, DecodeError

BODY_BYTES_MAX = 3 * 1024 * 1024
_JSON_TYPES = frozenset(("application/json", ""))
_YAML_TYPES = frozenset(("application/yaml",))
_PROTOBUF = "application/vnd.kubernetes.protobuf"
_ACCEPTED_OF_CUSTOM_RESOURCES = "application/json, application/yaml"
_ACCEPTED = f"{_ACCEPTED_OF_CUSTOM_RESOURCES}, {_PROTOBUF}"
# The Go type that reads apiVersion and kind before anything else; it shows up in messages.
_TYPE_META = 'struct { APIVersion string "json:\\"apiVersion,omitempty\\""; Kind string "json:\\"kind,omitempty\\"" }'
# Schemes are named after the place in Kubernetes' source where they are made.
_SCHEMES = {
    "apiextensions.k8s.io": "pkg/apiserver/apiserver.go:55",
    "apiregistration.k8s.io": "pkg/apiserver/scheme/scheme.go:28",
}
_SCHEME = "pkg/api/legacyscheme/scheme.go:30"

Object = dict[str, Any]


def media_type(request: Request) -> str:
    content_type = request.http.headers.get("content-type") or ""
    return content_type.partition(";")[0].strip().lower()


def unsupported_media_type(accepted: str = _ACCEPTED) -> errors.StatusError:
    return errors.StatusError(
        415,
        "UnsupportedMediaType",
        f"the body of the request was in an unknown format - accepted media types include: {accepted}",
    )


def raw_body(request: Request) -> bytes:
    """The body, or 413 when it is larger than the api-server reads."""
    http = request.http
    if http.body_truncated or len(http.body) > BODY_BYTES_MAX:
        raise errors.too_large(f"limit is {BODY_BYTES_MAX}")
    return http.body


def input_is_yaml(request: Request, *, custom: bool = False) -> bool:
    """Whether the body is YAML; raises 415 for anything but JSON, YAML and, of built-in kinds, protobuf."""
    media = media_type(request)
    if media in _JSON_TYPES:
        return False
    if media in _YAML_TYPES:
        return True
    if media == _PROTOBUF:
        if custom:
            raise unsupported_media_type(_ACCEPTED_OF_CUSTOM_RESOURCES)
        return False
    raise unsupported_media_type()


def is_protobuf(request: Request) -> bool:
    content_type = request.http.headers.get("content-type")
    return content_type is not None and content_type[:35].lower() == _PROTOBUF


def read_object(
    request: Request, served: Served, *, yaml: bool, strict: bool, catalogue: Catalogue
) -> tuple[Object, list[str]]:
    """The body as an object in storage shape, with the problems a strict reader would report."""
    data = raw_body(request)
    kind = served.resource.kind
    try:
        if is_protobuf(request):
            return _read_protobuf(data, served, catalogue)
        raw = yaml_text.loads(data) if yaml else gojson.loads(data)
    except yaml_text.YamlError as error:
        raise _unrecognized(kind, str(error), data) from None
    except gojson.JsonError as error:
        raise _unrecognized(kind, f"couldn't get version/kind; json parse error: {error}", data) from None
    given_group, given_version, given_kind = _type_meta(raw, kind, data, served)
    _check_kind(served, given_group, given_version, given_kind, catalogue)
    try:
        obj, problems = served.decode({} if raw is None else raw)
    except DecodeError as error:
        raise _cannot_be_handled(given_kind, given_version, kind, error.text) from None
    if strict and not yaml:
        problems = [f"duplicate field {quote(path)}" for path in gojson.duplicate_fields(data, raw)] + problems
    elif strict:
        problems = _yaml_duplicates(data) + problems
    return obj, problems


def _read_protobuf(data: bytes, served: Served, catalogue: Catalogue) -> tuple[Object, list[str]]:
    """As `read_object`; protobuf has no fields to misspell or to give twice."""
    from clusters.emulated.apiserver.media import protobuf_body  # Only protobuf clients pay for it.

    kind, struct = served.resource.kind, served.struct
    assert struct is not None, "custom resources are refused in protobuf"
    try:
        envelope = protobuf_body.unwrap(data)
    except protobuf_body.ProtobufError as error:
        raise _unrecognized(kind, str(error), data) from None
    given_group, given_version, given_kind = _type_meta(protobuf_body.claimed(envelope), kind, data, served)
    _check_kind(served, given_group, given_version, given_kind, catalogue)
    try:
        obj, _ = served.decode(protobuf_body.document(envelope, struct))
    except (protobuf_body.ProtobufError, DecodeError) as error:
        raise _cannot_be_handled(given_kind, given_version, kind, str(error)) from None
    return obj, []


def _yaml_duplicates(data: bytes) -> list[str]:
    try:
        yaml_text.loads(data, strict=True)
    except yaml_text.DuplicateKey as error:
        return [str(error).removeprefix("error converting YAML to JSON: ")]
    return []


def field_problems(request: Request, directive: str, problems: list[str], served: Served, version: str) -> None:
    """What becomes of unknown and duplicate fields: a 400 (Strict), warnings (Warn) or nothing (Ignore)."""
    if not problems or directive == "Ignore":
        return
    if directive == "Strict":
        text = f"strict decoding error: {', '.join(problems)}"
        raise _cannot_be_handled(served.resource.kind, version, served.resource.kind, text)
    for problem in problems:
        head, _, lines = problem.partition("\n")
        for line in lines.split("\n") if head == "yaml: unmarshal errors:" else (problem,):
            request.warn(line.strip())


def _type_meta(raw: Any, kind: str, data: bytes, served: Served) -> tuple[str, str, str]:
    """(group, version, kind) the body claims; what it leaves out is taken from the URL."""
    expected = served.resource
    if raw is None and served.struct is None:
        raise _unrecognized(kind, "Object 'Kind' is missing in 'null'", data)
    if raw is None:
        return expected.group, expected.version, expected.kind
    if not isinstance(raw, dict):
        found = "string" if isinstance(raw, str) else "array" if isinstance(raw, list) else "number"
        if isinstance(raw, bool):
            found = "bool"
        text = f"json: cannot unmarshal {found} into Go value of type {_TYPE_META}"
        raise _unrecognized(kind, f"couldn't get version/kind; json parse error: {text}", data)
    for name in ("apiVersion", "kind"):
        value = raw.get(name)
        if value is not None and not isinstance(value, str):
            found = "bool" if isinstance(value, bool) else "number"
            if isinstance(value, (dict, list)):
                found = "object" if isinstance(value, dict) else "array"
            text = f"json: cannot unmarshal {found} into Go struct field .{name} of type string"
            raise _unrecognized(kind, f"couldn't get version/kind; json parse error: {text}", data)
    api_version = raw.get("apiVersion") or ""
    if api_version.count("/") > 1:
        raise _unrecognized(kind, f"unexpected GroupVersion string: {api_version}", data)
    group, _, version = api_version.rpartition("/")
    if served.struct is None:  # Custom resources have to say what they are.
        if not raw.get("kind"):
            text = data.decode("utf-8", "replace")
            raise _unrecognized(kind, f"Object 'Kind' is missing in '{text}'", data)
        return group, version, raw["kind"]
    if not api_version:
        group, version = expected.group, expected.version
    return group, version, raw.get("kind") or expected.kind


def no_kind(expected: Resource, group_version: str, kind: str) -> str:
    """What Go says of a kind that the api-server of `expected` does not know."""
    scheme = _SCHEMES.get(expected.group, _SCHEME)
    return f"no kind {quote(kind)} is registered for version {quote(group_version)} in scheme {quote(scheme)}"


def wrong_kind(expected: Resource, group_version: str, kind: str, catalogue: Catalogue) -> str | None:
    """Why an object that was `expected` cannot become one of this kind; None if it is one."""
    if (group_version, kind) == (expected.group_version, expected.kind):
        return None
    group, _, version = group_version.rpartition("/")
    other = catalogue.kind(group, version, kind)
    if other is None:
        return no_kind(expected, group_version, kind)
    internal = f"{internal_package(expected.group)}.{expected.kind}"
    return f"converting ({other.go_name}) to ({internal}): unknown conversion"


def _check_kind(served: Served, group: str, version: str, kind: str, catalogue: Catalogue) -> None:
    """Whether a body of this kind can be taken for the resource in the URL."""
    expected = served.resource
    if (group, version, kind) == (expected.group, expected.version, expected.kind):
        return
    group_version = f"{group}/{version}" if group else version
    if served.struct is None:
        served.check_claimed_kind(group_version, kind)  # type: ignore[attr-defined]
        return
    known = catalogue.kind(group, version, kind)
    if known is None:
        raise _cannot_be_handled(kind, version, expected.kind, no_kind(expected, group_version, kind))
    if kind == expected.kind and group == expected.group:
        raise errors.bad_request(
            f"the API version in the data ({group_version}) does not match the expected API version "
            f"({expected.group_version})"
        )
    internal = f"{internal_package(expected.group)}.{expected.kind}"
    text = f"converting ({known.go_name}) to ({internal}): unknown conversion"
    raise _cannot_be_handled(kind, version, expected.kind, text)


def internal_package(group: str) -> str:
    """The Go package of a group's internal types: `core`, `apps`, `rbac`, `networking`."""
    odd = {"rbac.authorization.k8s.io": "rbac", "events.k8s.io": "core", "": "core"}
    return odd.get(group) or group.partition(".")[0]


def _unrecognized(kind: str, problem: str, data: bytes) -> errors.StatusError:
    return errors.bad_request(
        f"the object provided is unrecognized (must be of type {kind}): {problem} ({_summary(data)})"
    )


def _cannot_be_handled(given_kind: str, version: str, kind: str, problem: str) -> errors.StatusError:
    return errors.bad_request(f"{given_kind} in version {quote(version)} cannot be handled as a {kind}: {problem}")


def _summary(data: bytes) -> str:
    if not data:
        return "<empty>"
    cut = data[:30]
    more = " ..." if len(data) > 30 else ""
    return (cut.decode("utf-8", "replace") if data[:1] == b"{" else cut.hex()) + more
