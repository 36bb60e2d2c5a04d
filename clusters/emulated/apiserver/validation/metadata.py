"""metadata: what every object's name, labels, annotations, owners and finalizers must be.

`create_errors` and `update_errors` are what the registry asks: metadata and the kind's own rules together, in the
order in which Kubernetes reports them. An update reports metadata problems more than once, because the generic
checks and the kind's own both see them; the status lists each, its message names equal texts once.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from clusters.emulated.apiserver.validation.rules import KindRules, Object
from clusters.kube import names
from clusters.kube.field import FieldError, child, forbidden, index, invalid, required, too_long
from clusters.kube.gostring import Verbatim, quote, to_json
from clusters.kube.selectors import validate_labels

NameRule = Callable[[str, bool], Sequence[str]]

ANNOTATIONS_MAX_BYTES = 256 * 1024
_STANDARD_FINALIZERS = frozenset(("kubernetes", "orphan", "foregroundDeletion"))
_MANAGER_MAX_BYTES = 128
_SUBRESOURCE_MAX_BYTES = 256


def validate_metadata(obj: Object, namespaced: bool, name_rule: NameRule) -> list[FieldError]:
    """A whole ObjectMeta, as the kind's own validation sees it."""
    metadata = obj.get("metadata") or {}
    errors = _object_meta(metadata, namespaced, name_rule)
    finalizers = metadata.get("finalizers")
    if finalizers:
        errors += _kube_finalizers(finalizers)
    return errors


def validate_generic_metadata(obj: Object, namespaced: bool) -> list[FieldError]:
    """What is asked of every kind: the name can stand in a URL, the rest as usual."""
    return _object_meta(obj.get("metadata") or {}, namespaced, names.path_segment_name)


def validate_metadata_update(obj: Object, old: Object) -> list[FieldError]:
    """What an update may not do to metadata, as the kind's own validation sees it."""
    errors = _object_meta_update(obj.get("metadata") or {}, old.get("metadata") or {})
    finalizers = (obj.get("metadata") or {}).get("finalizers")
    if finalizers:
        errors += _kube_finalizers(finalizers)
    return errors


def object_meta_errors(
    metadata: Mapping[str, Any], namespaced: bool, name_rule: NameRule, path: str = "metadata"
) -> list[FieldError]:
    """A whole ObjectMeta at `path`, without what only built-in kinds ask of finalizers."""
    errors = _object_meta(metadata, namespaced, name_rule)
    if path == "metadata":
        return errors
    return [replace(error, field=path + error.field.removeprefix("metadata")) for error in errors]


def object_meta_update_errors(obj: Object, old: Object) -> list[FieldError]:
    """What an update may not do to metadata, without what only built-in kinds ask of finalizers."""
    return _object_meta_update(obj.get("metadata") or {}, old.get("metadata") or {})


def create_errors(rules: KindRules, obj: Object, namespaced: bool) -> list[FieldError]:
    """All that refuses a new object."""
    if rules.validates_metadata:
        errors = rules.validate_create(obj)
    else:
        errors = _whole_metadata(rules, obj, namespaced) + rules.validate_create(obj)
    return errors or validate_generic_metadata(obj, namespaced)


def update_errors(rules: KindRules, obj: Object, old: Object, namespaced: bool) -> list[FieldError]:
    """All that refuses an update through the main endpoint."""
    errors = validate_generic_metadata(obj, namespaced)
    errors += _object_meta_update(obj.get("metadata") or {}, old.get("metadata") or {})
    if not rules.validates_metadata:
        errors += _own_metadata_check(rules, rules.metadata_on_update, obj, old, namespaced)
    return errors + rules.validate_update(obj, old)


def _own_metadata_check(rules: KindRules, check: str, obj: Object, old: Object, namespaced: bool) -> list[FieldError]:
    errors: list[FieldError] = []
    if check in ("update", "both"):
        checks = validate_metadata_update if rules.checks_finalizer_names else object_meta_update_errors
        errors += checks(obj, old)
    if check in ("whole", "both"):
        errors += _whole_metadata(rules, obj, namespaced)
    return errors


def _whole_metadata(rules: KindRules, obj: Object, namespaced: bool) -> list[FieldError]:
    if rules.checks_finalizer_names:
        return validate_metadata(obj, namespaced, rules.validate_name)
    return object_meta_errors(obj.get("metadata") or {}, namespaced, rules.validate_name)


def status_errors(rules: KindRules, obj: Object, old: Object, namespaced: bool) -> list[FieldError]:
    """All that refuses an update through the status subresource."""
    errors = validate_generic_metadata(obj, namespaced)
    errors += _object_meta_update(obj.get("metadata") or {}, old.get("metadata") or {})
    errors += _own_metadata_check(rules, rules.metadata_on_status, obj, old, namespaced)
    return errors + rules.validate_status(obj, old)


def endpoint_errors(
    validate: Callable[[Object, Object], list[FieldError]],
) -> Callable[[KindRules, Object, Object, bool], list[FieldError]]:
    """All that refuses an update through another subresource of the same object, whose rule is `validate`."""

    def refusals(rules: KindRules, obj: Object, old: Object, namespaced: bool) -> list[FieldError]:
        errors = validate_generic_metadata(obj, namespaced)
        errors += _object_meta_update(obj.get("metadata") or {}, old.get("metadata") or {})
        return errors + validate(obj, old)

    return refusals


def _object_meta(metadata: Mapping[str, Any], namespaced: bool, name_rule: NameRule) -> list[FieldError]:
    errors: list[FieldError] = []
    generate_name = metadata.get("generateName")
    if generate_name:
        errors += [invalid("metadata.generateName", generate_name, text) for text in name_rule(generate_name, True)]
    name = metadata.get("name")
    if not name:
        errors.append(required("metadata.name", "name or generateName is required"))
    else:
        errors += [invalid("metadata.name", name, text) for text in name_rule(name, False)]
    namespace = metadata.get("namespace")
    if namespaced:
        if not namespace:
            errors.append(required("metadata.namespace"))
        else:
            errors += [invalid("metadata.namespace", namespace, text) for text in names.dns_label(namespace)]
    elif namespace:
        errors.append(forbidden("metadata.namespace", "not allowed on this type"))
    if metadata.get("generation", 0) < 0:
        errors.append(invalid("metadata.generation", metadata["generation"], names.NEGATIVE))
    if metadata.get("labels"):
        errors += validate_labels(metadata["labels"], "metadata.labels")
    if metadata.get("annotations"):
        errors += validate_annotations(metadata["annotations"], "metadata.annotations")
    if metadata.get("ownerReferences"):
        errors += validate_owner_references(metadata["ownerReferences"], "metadata.ownerReferences")
    if metadata.get("finalizers"):
        errors += _finalizers(metadata["finalizers"])
    if metadata.get("managedFields"):
        errors += _managed_fields(metadata["managedFields"])
    return errors


def _object_meta_update(new: Mapping[str, Any], old: Mapping[str, Any]) -> list[FieldError]:
    errors: list[FieldError] = []
    if old.get("deletionTimestamp"):
        added = sorted(set(new.get("finalizers") or ()) - set(old.get("finalizers") or ()))
        if added:
            listed = ", ".join(quote(name) for name in added)
            text = "no new finalizers can be added if the object is being deleted, found new finalizers"
            errors.append(forbidden("metadata.finalizers", f"{text} []string{{{listed}}}"))
    if not new.get("resourceVersion"):
        errors.append(invalid("metadata.resourceVersion", "", "must be specified for an update"))
    if new.get("generation", 0) < old.get("generation", 0):
        errors.append(invalid("metadata.generation", new.get("generation", 0), "must not be decremented"))
    for name, empty in (
        ("name", ""), ("namespace", ""), ("uid", ""), ("creationTimestamp", None),
        ("deletionTimestamp", None), ("deletionGracePeriodSeconds", None),
    ):  # fmt: skip
        value = new.get(name) or empty if empty == "" else new.get(name)
        before = old.get(name) or empty if empty == "" else old.get(name)
        if value != before:
            errors.append(invalid(f"metadata.{name}", value, "field is immutable"))
    if new.get("labels"):
        errors += validate_labels(new["labels"], "metadata.labels")
    if new.get("annotations"):
        errors += validate_annotations(new["annotations"], "metadata.annotations")
    if new.get("ownerReferences"):
        errors += validate_owner_references(new["ownerReferences"], "metadata.ownerReferences")
    if new.get("managedFields"):
        errors += _managed_fields(new["managedFields"])
    return errors


def validate_annotations(annotations: Mapping[str, str], path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    size = 0
    for key, value in annotations.items():
        for text in names.qualified_name(key.lower()):
            errors.append(invalid(path, key, text))
        size += names.size(key) + names.size(value)
    if size > ANNOTATIONS_MAX_BYTES:
        errors.append(too_long(path, ANNOTATIONS_MAX_BYTES))
    return errors


_OWNER_FIELDS = ("apiVersion", "kind", "name", "uid", "controller", "blockOwnerDeletion")


def _shown_owner(reference: Mapping[str, Any]) -> str:
    parts = []
    for field in _OWNER_FIELDS:
        if field in _OWNER_FIELDS[:4] or reference.get(field) is not None:
            parts.append(f"{to_json(field)}:{to_json(reference.get(field, ''))}")
    return "{" + ",".join(parts) + "}"


def validate_owner_references(references: Sequence[Mapping[str, Any]], path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    controller = ""
    for reference in references:
        api_version, kind = reference.get("apiVersion", ""), reference.get("kind", "")
        group, slash, version = api_version.rpartition("/")
        # More than one slash is no group and version: both are then empty.
        if slash and "/" in group:
            version = ""
        if not version:
            errors.append(invalid(child(path, "apiVersion"), api_version, "version must not be empty"))
        for field in ("kind", "name", "uid"):
            if not reference.get(field):
                errors.append(invalid(child(path, field), "", "must not be empty"))
        if api_version == "v1" and kind == "Event":
            text = "/v1, Kind=Event is disallowed from being an owner"
            errors.append(invalid(path, Verbatim(_shown_owner(reference)), text))
        if reference.get("controller"):
            current = f"{kind}/{reference.get('name', '')}"
            if controller:
                shown = Verbatim("[" + ",".join(map(_shown_owner, references)) + "]")
                text = 'Only one reference can have Controller set to true. Found "true" in references for'
                errors.append(invalid(path, shown, f"{text} {controller} and {current}"))
            else:
                controller = current
    return errors


def _finalizers(finalizers: Sequence[str]) -> list[FieldError]:
    errors = [invalid("metadata.finalizers", name, text) for name in finalizers for text in names.qualified_name(name)]
    if "orphan" in finalizers and "foregroundDeletion" in finalizers:
        text = "finalizer orphan and foregroundDeletion cannot be both set"
        errors.append(invalid("metadata.finalizers", list(finalizers), text))
    return errors


def _kube_finalizers(finalizers: Sequence[str]) -> list[FieldError]:
    errors: list[FieldError] = []
    for position, name in enumerate(finalizers):
        errors += kube_finalizer_errors(name, index("metadata.finalizers", position))
    return errors


def kube_finalizer_errors(name: str, path: str) -> list[FieldError]:
    """A finalizer without a prefix must be one that Kubernetes knows."""
    if "/" in name or name in _STANDARD_FINALIZERS:
        return []
    return [invalid(path, name, "name is neither a standard finalizer name nor is it fully qualified")]


def _managed_fields(entries: Sequence[Mapping[str, Any]]) -> list[FieldError]:
    errors: list[FieldError] = []
    for position, entry in enumerate(entries):
        path = f"metadata.managedFields[{position}]"
        operation = entry.get("operation", "")
        if operation not in ("Apply", "Update"):
            errors.append(invalid(f"{path}.operation", operation, "must be `Apply` or `Update`"))
        fields_type = entry.get("fieldsType", "")
        if fields_type and fields_type != "FieldsV1":
            errors.append(invalid(f"{path}.fieldsType", fields_type, "must be `FieldsV1`"))
        manager = entry.get("manager", "")
        errors += validate_field_manager(manager, f"{path}.manager")
        if names.size(entry.get("subresource", "")) > _SUBRESOURCE_MAX_BYTES:
            errors.append(too_long(f"{path}.subresource", _SUBRESOURCE_MAX_BYTES))
    return errors


def validate_field_manager(manager: str, path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    if names.size(manager) > _MANAGER_MAX_BYTES:
        errors.append(too_long(path, _MANAGER_MAX_BYTES))
    if not manager.isprintable():
        position = 0
        for character in manager:
            if not character.isprintable():
                text = f"invalid character U+{ord(character):04X} (at position {position})"
                errors.append(invalid(path, manager, text))
            position += len(character.encode("utf-8", "surrogateescape"))
    return errors
