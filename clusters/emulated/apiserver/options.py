"""The options a request carries in its query or body: read once, checked, refused in Kubernetes' words."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from clusters.emulated.apiserver.media import body as bodies
from clusters.emulated.apiserver.media import yaml_text
from clusters.emulated.apiserver.request import Request
from clusters.kube import errors, gojson
from clusters.kube.field import FieldError, forbidden, invalid, not_supported, required, too_long
from clusters.kube.gostring import quote
from clusters.kube.schema import Catalogue, DecodeError, Struct, decode

Query = Mapping[str, list[str]]
FIELD_MANAGER_BYTES_MAX = 128
APPLY = "application/apply-patch+yaml"


def boolean(query: Query, name: str) -> bool | None:
    """None when absent; `?watch` and `?watch=anything` are true, `false` and `0` are not."""
    values = query.get(name)
    if not values:
        return None
    return values[0].lower() != "false" and values[0] != "0"


def integer(query: Query, name: str) -> int | None:
    values = query.get(name)
    if not values:
        return None
    text = values[0]
    digits = text[1:] if text[:1] in ("+", "-") else text
    if not (digits.isascii() and digits.isdigit()):
        raise errors.bad_request(f"strconv.ParseInt: parsing {quote(text)}: invalid syntax")
    number = int(text)
    if not -(2**63) <= number < 2**63:
        raise errors.bad_request(f"strconv.ParseInt: parsing {quote(text)}: value out of range")
    return number


def first(query: Query, name: str) -> str:
    values = query.get(name)
    return values[0] if values else ""


@dataclass(slots=True)
class WriteOptions:
    """CreateOptions, UpdateOptions or PatchOptions, whichever the verb takes."""

    kind: str
    dry_run: bool = False
    field_manager: str = ""
    field_validation: str = "Warn"
    force: bool | None = None
    given: dict[str, Any] = field(default_factory=dict)

    def as_object(self, kind: str = "") -> dict[str, Any]:
        """As an admission webhook is shown them."""
        return {"kind": kind or self.kind, "apiVersion": "meta.k8s.io/v1", **self.given}


def write_options(query: Query, kind: str, *, patch_type: str = "") -> WriteOptions:
    """Reads and checks them; a wrong value is a 422 that names the options object."""
    dry_run = query.get("dryRun") or []
    manager = first(query, "fieldManager")
    validation = first(query, "fieldValidation")
    force = boolean(query, "force") if kind == "PatchOptions" else None
    if not dry_run and not manager and not validation and force is None and patch_type != APPLY:
        return WriteOptions(kind)
    problems: list[FieldError] = []
    if kind == "PatchOptions":
        if patch_type == APPLY:
            if not manager:
                problems.append(required("fieldManager", "is required for apply patch"))
        elif force is not None:
            problems.append(forbidden("force", "may not be specified for non-apply patch"))
    problems += _field_manager(manager)
    if any(value != "All" for value in dry_run):
        problems.append(not_supported("dryRun", dry_run, ("All",)))
    if validation not in ("", "Ignore", "Strict", "Warn"):
        problems.append(not_supported("fieldValidation", validation, ("", "Ignore", "Strict", "Warn")))
    if problems:
        raise errors.invalid(f"{kind}.meta.k8s.io", "", problems)
    given: dict[str, Any] = {}
    if dry_run:
        given["dryRun"] = list(dry_run)
    if force is not None:
        given["force"] = force
    if manager:
        given["fieldManager"] = manager
    if validation:
        given["fieldValidation"] = validation
    return WriteOptions(kind, bool(dry_run), manager, validation or "Warn", force, given)


def _field_manager(manager: str) -> list[FieldError]:
    problems = []
    if len(manager.encode()) > FIELD_MANAGER_BYTES_MAX:
        problems.append(too_long("fieldManager", FIELD_MANAGER_BYTES_MAX))
    for position, character in enumerate(manager):
        if not character.isprintable():
            detail = f"invalid character U+{ord(character):04X} (at position {position})"
            problems.append(invalid("fieldManager", manager, detail))
    return problems


@dataclass(slots=True)
class ListOptions:
    label_selector: str = ""
    field_selector: str = ""
    limit: int = 0
    continue_token: str = ""
    resource_version: str = ""
    resource_version_match: str = ""
    watch: bool = False
    timeout_s: int | None = None
    allow_bookmarks: bool = False
    send_initial_events: bool | None = None
    #: The client itself asked for initial events, rather than getting the legacy ones by default.
    asked_initial_events: bool = False


def list_options(query: Query, *, watch: bool = False) -> ListOptions:
    """Reads and checks them; watches without a resourceVersion begin with the current state."""
    if not query and not watch:
        return ListOptions()
    options = ListOptions(
        label_selector=first(query, "labelSelector"),
        field_selector=first(query, "fieldSelector"),
        limit=integer(query, "limit") or 0,
        continue_token=first(query, "continue"),
        resource_version=first(query, "resourceVersion"),
        resource_version_match=first(query, "resourceVersionMatch"),
        watch=watch or bool(boolean(query, "watch")),
        timeout_s=integer(query, "timeoutSeconds"),
        allow_bookmarks=bool(boolean(query, "allowWatchBookmarks")),
        send_initial_events=boolean(query, "sendInitialEvents"),
    )
    options.asked_initial_events = bool(options.send_initial_events)
    legacy = options.resource_version in ("", "0")
    if options.send_initial_events is None and not options.resource_version_match and options.watch and legacy:
        options.send_initial_events = True
        options.resource_version_match = "NotOlderThan"
    problems = _watch_problems(options) if options.watch else _list_problems(options)
    if problems:
        raise errors.invalid("ListOptions.meta.k8s.io", "", problems)
    return options


def _list_problems(options: ListOptions) -> list[FieldError]:
    name, match = "resourceVersionMatch", options.resource_version_match
    problems = []
    if match:
        if not options.resource_version:
            problems.append(forbidden(name, f"{name} is forbidden unless resourceVersion is provided"))
        if options.continue_token:
            problems.append(forbidden(name, f"{name} is forbidden when continue is provided"))
        if match not in ("Exact", "NotOlderThan"):
            problems.append(not_supported(name, match, ("Exact", "NotOlderThan", "")))
        if match == "Exact" and options.resource_version == "0":
            problems.append(forbidden(name, f'{name} "exact" is forbidden for resourceVersion "0"'))
    if options.send_initial_events is not None:
        problems.append(forbidden("sendInitialEvents", "sendInitialEvents is forbidden for list"))
    return problems


def _watch_problems(options: ListOptions) -> list[FieldError]:
    name, match = "resourceVersionMatch", options.resource_version_match
    problems = []
    if options.send_initial_events is not None and match != "NotOlderThan":
        problems.append(forbidden(name, f"sendInitialEvents requires setting {name} to NotOlderThan"))
    if match:
        if options.send_initial_events is None:
            text = f"{name} is forbidden for watch unless sendInitialEvents is provided"
            problems.append(forbidden(name, text))
        if match != "NotOlderThan":
            problems.append(not_supported(name, match, ("NotOlderThan",)))
        if options.continue_token:
            problems.append(forbidden(name, f"{name} is forbidden when continue is provided"))
    return problems


@dataclass(slots=True)
class DeleteOptions:
    dry_run: bool = False
    grace_period_s: int | None = None
    precondition_uid: str | None = None
    precondition_resource_version: str | None = None
    orphan_dependents: bool | None = None
    propagation_policy: str | None = None
    given: dict[str, Any] = field(default_factory=dict)

    def as_object(self) -> dict[str, Any]:
        return {"kind": "DeleteOptions", "apiVersion": "meta.k8s.io/v1", **self.given}


def delete_options(request: Request, catalogue: Catalogue) -> DeleteOptions:
    """From the body when there is one, otherwise from the query."""
    data = bodies.raw_body(request)
    given = _delete_options_body(request, data, catalogue) if data else _delete_options_query(request.query)
    preconditions = given.get("preconditions") or {}
    options = DeleteOptions(
        dry_run=bool(given.get("dryRun")),
        grace_period_s=given.get("gracePeriodSeconds"),
        precondition_uid=preconditions.get("uid"),
        precondition_resource_version=preconditions.get("resourceVersion"),
        orphan_dependents=given.get("orphanDependents"),
        propagation_policy=given.get("propagationPolicy"),
        given=given,
    )
    problems = _delete_problems(options, given.get("dryRun") or [])
    if problems:
        raise errors.invalid("DeleteOptions.meta.k8s.io", "", problems)
    return options


_NOT_TYPED = (
    "json: cannot unmarshal {} into Go value of type struct "
    '{{ APIVersion string "json:\\"apiVersion,omitempty\\""; Kind string "json:\\"kind,omitempty\\"" }}'
)


def _found(value: Any) -> str:
    if isinstance(value, bool):
        return "bool"
    return "string" if isinstance(value, str) else "array" if isinstance(value, list) else "number"


def _delete_options_body(request: Request, data: bytes, catalogue: Catalogue) -> dict[str, Any]:
    struct = catalogue.struct("meta/v1.DeleteOptions")
    try:
        is_yaml = bodies.input_is_yaml(request)
        if bodies.is_protobuf(request):
            raw = _protobuf_document(data, struct)
        else:
            raw = yaml_text.loads(data) if is_yaml else gojson.loads(data)
    except gojson.JsonError as error:
        raise errors.bad_request(f"couldn't get version/kind; json parse error: {error}") from None
    except yaml_text.YamlError as error:
        raise errors.bad_request(str(error)) from None
    if raw is not None and not isinstance(raw, dict):
        raise errors.bad_request(f"couldn't get version/kind; json parse error: {_NOT_TYPED.format(_found(raw))}")
    kind = raw.get("kind") if isinstance(raw, dict) else None
    if raw and isinstance(kind, str) and kind != "DeleteOptions":
        version = raw.get("apiVersion") or "v1"
        scheme = "pkg/apis/meta/internalversion/scheme/register.go:27"
        raise errors.bad_request(
            f"no kind {quote(kind)} is registered for version {quote(str(version))} in scheme {quote(scheme)}"
        )
    try:
        given, _ = decode(struct, {} if raw is None else raw)
    except DecodeError as error:
        raise errors.bad_request(error.text) from None
    given.pop("kind", None)
    given.pop("apiVersion", None)
    given.pop("ignoreStoreReadErrorWithClusterBreakingPotential", None)
    return given


def _protobuf_document(data: bytes, struct: Struct) -> Any:
    from clusters.emulated.apiserver.media import protobuf_body  # Only protobuf clients pay for it.

    try:
        return protobuf_body.document(protobuf_body.unwrap(data), struct)
    except protobuf_body.ProtobufError as error:
        raise errors.bad_request(str(error)) from None


def _delete_options_query(query: Query) -> dict[str, Any]:
    if not query:
        return {}
    given: dict[str, Any] = {}
    grace = integer(query, "gracePeriodSeconds")
    if grace is not None:
        given["gracePeriodSeconds"] = grace
    orphan = boolean(query, "orphanDependents")
    if orphan is not None:
        given["orphanDependents"] = orphan
    if first(query, "propagationPolicy"):
        given["propagationPolicy"] = first(query, "propagationPolicy")
    if query.get("dryRun"):
        given["dryRun"] = list(query["dryRun"])
    return given


_POLICIES = ("Foreground", "Background", "Orphan")


def _delete_problems(options: DeleteOptions, dry_run: list[str]) -> list[FieldError]:
    problems = []
    policy = options.propagation_policy
    if policy is not None:
        if options.orphan_dependents is not None:
            detail = "orphanDependents and deletionPropagation cannot be both set"
            problems.append(invalid("propagationPolicy", policy, detail))
        if policy not in _POLICIES:
            problems.append(not_supported("propagationPolicy", policy, (*_POLICIES, "nil")))
    if any(value != "All" for value in dry_run):
        problems.append(not_supported("dryRun", dry_run, ("All",)))
    return problems
