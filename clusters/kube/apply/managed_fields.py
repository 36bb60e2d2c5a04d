"""Who owns which field: `update` after a create, update or patch, and `apply` for server-side apply.

    >>> update(None, config_map, "gt", schema=…, api_version="v1", now="2026-01-01T00:00:00Z")["metadata"]
    {'name': 'a', 'managedFields': [{'manager': 'gt', 'operation': 'Update', 'apiVersion': 'v1', 'time': …,
     'fieldsType': 'FieldsV1', 'fieldsV1': {'f:data': {'.': {}, 'f:x': {}}}}]}

Objects are plain dicts, decoded or as written; nothing that is given is changed. The caller decodes and
defaults what `apply` returns. `reset_fields` takes out what the endpoint does not let its clients write (see
the module of that name); `convert` is needed for kinds with several versions.
"""

from __future__ import annotations

from typing import Any

from clusters.kube.apply import entries, last_applied, validation
from clusters.kube.apply.compare import UntypableError
from clusters.kube.apply.conflicts import ConflictsError
from clusters.kube.apply.entries import BadManagedFieldsError, Managed, Manager, written
from clusters.kube.apply.fieldset import difference, has, union
from clusters.kube.apply.merge_configuration import merge_configuration
from clusters.kube.apply.object_type import ObjectType
from clusters.kube.apply.ownership import Convert, Filter, Object, Versions, move
from clusters.kube.errors import bad_request, unknown

_BEFORE_FIRST_APPLY = "before-first-apply"
_NAME_MAX_BYTES = 128


def manager_name(field_manager: str, user_agent: str) -> str:
    """The request's `fieldManager`, else what stands before the first `/` of the User-Agent."""
    if field_manager:
        return field_manager
    name = ""
    for character in user_agent.partition("/")[0]:
        if character.isprintable():
            if len((name + character).encode()) > _NAME_MAX_BYTES:
                break
            name += character
    return name


def update(
    live: Object | None,
    new: Object,
    manager: str,
    *,
    schema: ObjectType,
    api_version: str,
    now: str,
    subresource: str = "",
    reset_fields: Filter | None = None,
    convert: Convert | None = None,
) -> Object:
    """`new` with the managed fields that follow from it; `live` is None for a create."""
    metadata = new.get("metadata") or {}
    live_metadata = {} if live is None else live.get("metadata") or {}
    managed = _live_or_new(live_metadata, metadata, subresource)
    if not managed and live_metadata.get("uid"):
        return _with_managed_fields(new, metadata, managed)  # Nobody ever tracked this object.
    versions = Versions(api_version, schema, reset_fields, convert)
    try:
        managed = _updated(versions, live or {}, new, managed, manager, subresource, now)
    except UntypableError:
        managed = {}  # A list that breaks its own keys: Kubernetes tracks nothing then, and goes on.
    return _with_managed_fields(new, metadata, managed)


def apply(
    live: Object | None,
    config: Object,
    manager: str,
    force: bool,
    *,
    schema: ObjectType,
    api_version: str,
    kind: str,
    now: str,
    subresource: str = "",
    reset_fields: Filter | None = None,
    convert: Convert | None = None,
) -> Object:
    """The object with `config` merged in; raises the StatusError of a conflict or of a bad configuration."""
    if (_text(config, "apiVersion"), _text(config, "kind")) != (api_version, kind):
        raise bad_request(f"invalid object type: {_group_version_kind(config)}")
    versions = Versions(api_version, schema, reset_fields, convert)
    before = schema.written(live)
    live_metadata = before.get("metadata") or {}
    try:
        managed = entries.decode(live_metadata.get("managedFields"))
    except BadManagedFieldsError as error:
        raise unknown(f"failed to decode managed fields: {error}") from error
    before = _without_managed_fields(before, live_metadata)
    if not managed and live is not None:
        managed = _updated(versions, {}, before, managed, _BEFORE_FIRST_APPLY, subresource, now)
    _check(schema, config)
    myself = Manager(manager or "unknown", "Apply", "", subresource)
    try:
        merged, managed = _merged(versions, before, config, managed, myself, force)
    except ConflictsError as conflicts:
        raise conflicts.status_error() from conflicts
    except UntypableError as error:
        raise unknown(f"failed to create typed live object ({_described(before)}): {error}") from error
    if merged is None:
        merged = before
    elif myself in managed:
        managed[myself] = written(myself, api_version, managed[myself]["fieldsV1"], now)
    if manager == last_applied.KUBECTL:
        merged = last_applied.follow(merged, config)
    return _with_managed_fields(merged, merged.get("metadata") or {}, managed)


def _updated(
    versions: Versions, live: Object, new: Object, managed: Managed, manager: str, subresource: str, now: str
) -> Managed:
    managed, changed, _ = move(versions, live, new, versions.reconciled(managed), None)
    fields = changed.taken()
    if fields:
        myself = Manager(manager or "unknown", "Update", versions.api_version, subresource)
        previous = managed.get(myself)
        if previous is not None:
            fields = union(fields, previous["fieldsV1"])
        managed[myself] = written(myself, versions.api_version, fields, now)
    return entries.capped(managed)


def _merged(
    versions: Versions, live: Object, config: Object, managed: Managed, myself: Manager, force: bool
) -> tuple[Object | None, Managed]:
    try:
        return merge_configuration(versions, live, config, managed, myself, force)
    except ConflictsError as conflicts:
        if myself.name != last_applied.KUBECTL:
            raise
        allowed = last_applied.allowed_conflicts(versions, live)
        if allowed is None:
            raise
        if difference(conflicts.fields(), allowed):
            left = [each for each in conflicts.found if not has(allowed, each[1])]
            raise ConflictsError(left) from conflicts
    return merge_configuration(versions, live, config, managed, myself, True)


def _check(schema: ObjectType, config: Object) -> None:
    metadata = config.get("metadata")
    if isinstance(metadata, dict) and isinstance(metadata.get("managedFields"), list):
        raise bad_request("metadata.managedFields must be nil")
    problem = validation.text(schema.root, config)
    if problem is not None:
        raise unknown(f"failed to create typed patch object ({_described(config)}): {problem}")


def _live_or_new(live_metadata: Object, metadata: Object, subresource: str) -> Managed:
    """Clients may edit managed fields, but not through a subresource; what they break is not taken over."""
    live_entries = live_metadata.get("managedFields")
    sent = metadata.get("managedFields")
    if subresource or sent is None or sent is live_entries:
        return entries.read(live_entries)
    if entries.is_reset(sent):
        return {}
    if sent == live_entries:
        return entries.read(live_entries)
    try:
        return entries.decode(sent) or entries.read(live_entries)
    except BadManagedFieldsError:
        return entries.read(live_entries)


def _with_managed_fields(obj: Object, metadata: Object, managed: Managed) -> Object:
    if not managed:
        return _without_managed_fields(obj, metadata)
    with_fields = {name: value for name, value in metadata.items() if name != "managedFields"}
    with_fields["managedFields"] = entries.encode(managed)
    return {**obj, "metadata": with_fields}


def _without_managed_fields(obj: Object, metadata: Object) -> Object:
    if "managedFields" not in metadata:
        return obj
    return {**obj, "metadata": {name: value for name, value in metadata.items() if name != "managedFields"}}


def _group_version_kind(obj: Object) -> str:
    version, kind = _text(obj, "apiVersion"), _text(obj, "kind")
    return f"{version if '/' in version else '/' + version}, Kind={kind}"


def _described(obj: Object) -> str:
    metadata = obj.get("metadata")
    named = metadata if isinstance(metadata, dict) else {}
    return f"{_text(named, 'namespace')}/{_text(named, 'name')}; {_group_version_kind(obj)}"


def _text(obj: Object, name: str) -> str:
    """What is no text counts as absent, as it does to Go's untyped objects."""
    value = obj.get(name)
    return value if isinstance(value, str) else ""


def keep_times(old: Object, new: Object) -> Object:
    """`new`, with the old times if times are all that changed: such a write does not happen.

    Called last before storing, so that a repeated apply leaves the resourceVersion alone.
    """
    before = (old.get("metadata") or {}).get("managedFields") or []
    after = (new.get("metadata") or {}).get("managedFields") or []
    if len(before) != len(after) or not after or before == after:
        return new
    if any(_timeless(left) != _timeless(right) for left, right in zip(before, after, strict=True)):
        return new
    restored = {**new, "metadata": {**new["metadata"], "managedFields": before}}
    return restored if restored == old else new


def _timeless(entry: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in entry.items() if name != "time"}


def problem_after_admission(managed_fields: Any) -> str | None:
    """What is wrong with managed fields that a webhook changed; the caller then keeps those from before."""
    try:
        entries.decode(managed_fields)
    except BadManagedFieldsError as error:
        return str(error)
    return None
