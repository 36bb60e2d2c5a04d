"""CustomResourceDefinition: names, versions, schemas, subresources, conversion.

Kubernetes lifts what is the same in all versions to the spec before it looks at it, so the errors of a
definition with one version speak of `spec.validation`, `spec.subresources`, `spec.additionalPrinterColumns`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from clusters.emulated.apiserver.validation.apiextensions.columns import (
    column_errors,
    selectable_field_errors,
    subresource_errors,
)
from clusters.emulated.apiserver.validation.apiextensions.defaults import default_errors
from clusters.emulated.apiserver.validation.apiextensions.formats import format_warnings
from clusters.emulated.apiserver.validation.apiextensions.naming import (
    approval_errors,
    conversion_errors,
    conversion_review_versions_known,
    names_errors,
)
from clusters.emulated.apiserver.validation.apiextensions.openapischema import openapi_schema_errors
from clusters.emulated.apiserver.validation.apiextensions.structural import structural_errors, unsupported
from clusters.emulated.apiserver.validation.fields import equal, unchanged
from clusters.emulated.apiserver.validation.lifecycle import LifecycleRules
from clusters.emulated.apiserver.validation.rules import Object
from clusters.kube import names
from clusters.kube.field import FieldError, forbidden, index, invalid, not_supported, required
from clusters.kube.gostring import plain_list
from clusters.kube.internal import printed

_ALLOWED_AT_ROOT = {
    "description": "Description", "type": "Type", "format": "Format", "title": "Title", "maximum": "Maximum",
    "exclusiveMaximum": "ExclusiveMaximum", "minimum": "Minimum", "exclusiveMinimum": "ExclusiveMinimum",
    "maxLength": "MaxLength", "minLength": "MinLength", "pattern": "Pattern", "maxItems": "MaxItems",
    "minItems": "MinItems", "uniqueItems": "UniqueItems", "multipleOf": "MultipleOf", "required": "Required",
    "items": "Items", "properties": "Properties", "externalDocs": "ExternalDocs", "example": "Example",
    "x-kubernetes-preserve-unknown-fields": "XPreserveUnknownFields", "x-kubernetes-validations": "XValidations",
}  # fmt: skip
_LIFTED = ("subresources", "schema", "additionalPrinterColumns", "selectableFields")


class CustomResourceDefinitionRules(LifecycleRules):
    group, kind = "apiextensions.k8s.io", "CustomResourceDefinition"
    generation_fields = ("spec",)
    allow_unconditional_update = False
    # The name must be made of the spec's plural and group, so the object as a whole is needed to judge it.
    validates_metadata = True
    checks_finalizer_names = False

    def default(self, obj: Object) -> None:
        spec = obj.setdefault("spec", {})
        resource = spec.setdefault("names", {})
        if not resource.get("singular"):
            resource["singular"] = (resource.get("kind") or "").lower()
        if not resource.get("listKind") and resource.get("kind"):
            resource["listKind"] = f"{resource['kind']}List"
        spec.setdefault("conversion", {"strategy": "None"})
        service = ((spec["conversion"].get("webhook") or {}).get("clientConfig") or {}).get("service")
        if service is not None:
            service.setdefault("port", 443)
        _remember_storage_version(obj, only_if_none=True)

    def prepare_create(self, obj: Object) -> None:
        # What the API always shows of a status nobody has written yet.
        obj["status"] = {"conditions": None, "acceptedNames": {"plural": "", "kind": ""}, "storedVersions": None}
        obj.setdefault("metadata", {})["generation"] = 1
        _remember_storage_version(obj, only_if_none=False)

    def prepare_update(self, obj: Object, old: Object) -> None:
        obj["status"] = dict(old.get("status") or {})
        super().prepare_update(obj, old)
        _remember_storage_version(obj, only_if_none=False)

    def validate_create(self, obj: Object) -> list[FieldError]:
        from clusters.emulated.apiserver.validation.metadata import object_meta_errors

        spec = obj.get("spec") or {}
        wanted = f"{(spec.get('names') or {}).get('plural') or ''}.{spec.get('group') or ''}"

        def name_texts(name: str, prefix: bool) -> list[str]:
            texts = names.dns_subdomain(name, prefix)
            return texts if name == wanted else [*texts, 'must be spec.names.plural+"."+spec.group']

        errors = object_meta_errors(obj.get("metadata") or {}, False, name_texts)
        errors += _spec_errors(spec, known_review_version=True)
        return errors + _whole_errors(obj, None)

    def validate_update(self, obj: Object, old: Object) -> list[FieldError]:
        from clusters.emulated.apiserver.validation.metadata import object_meta_update_errors

        spec, old_spec = obj.get("spec") or {}, old.get("spec") or {}
        errors = object_meta_update_errors(obj, old)
        known = conversion_review_versions_known(old_spec.get("conversion"))
        errors += _spec_errors(spec, known_review_version=known)
        resource, old_resource = spec.get("names") or {}, old_spec.get("names") or {}
        if _established(old):
            errors += unchanged(spec.get("scope") or "", old_spec.get("scope") or "", "spec.scope")
            errors += unchanged(resource.get("kind") or "", old_resource.get("kind") or "", "spec.names.kind")
        errors += unchanged(spec.get("group") or "", old_spec.get("group") or "", "spec.group")
        errors += unchanged(resource.get("plural") or "", old_resource.get("plural") or "", "spec.names.plural")
        return errors + _whole_errors(obj, old)

    def validate_status(self, obj: Object, old: Object) -> list[FieldError]:
        return names_errors((obj.get("status") or {}).get("acceptedNames") or {}, "status.acceptedNames")

    def warnings_create(self, obj: Object) -> list[str]:
        return format_warnings(obj.get("spec") or {})

    def warnings_update(self, obj: Object, old: Object) -> list[str]:
        return format_warnings(obj.get("spec") or {}, old.get("spec") or {})


def _established(obj: Object) -> bool:
    return any(
        condition.get("type") == "Established" and condition.get("status") == "True"
        for condition in (obj.get("status") or {}).get("conditions") or ()
    )


def _remember_storage_version(obj: Object, *, only_if_none: bool) -> None:
    status = obj.setdefault("status", {})
    stored = status.get("storedVersions") or []
    storage = next(
        (version.get("name") for version in obj["spec"].get("versions") or () if version.get("storage")), None
    )
    if storage is not None and storage not in stored and not (only_if_none and stored):
        status["storedVersions"] = [*stored, storage]


def _whole_errors(obj: Object, old: Object | None) -> list[FieldError]:
    status = obj.get("status") or {}
    errors = names_errors(status.get("acceptedNames") or {}, "status.acceptedNames")
    errors += _stored_version_errors(status, (obj.get("spec") or {}).get("versions") or ())
    errors += approval_errors(obj, old)
    preserve = (obj.get("spec") or {}).get("preserveUnknownFields")
    if preserve and not ((old or {}).get("spec") or {}).get("preserveUnknownFields"):
        text = "cannot set to true, set x-kubernetes-preserve-unknown-fields to true in spec.versions[*].schema instead"
        errors.append(invalid("spec.preserveUnknownFields", preserve, text))
    return errors


def _stored_version_errors(status: Object, versions: Any) -> list[FieldError]:
    stored, path = status.get("storedVersions") or [], "status.storedVersions"
    if not stored:
        return [invalid(path, status.get("storedVersions"), "must have at least one stored version")]
    errors: list[FieldError] = []
    known = [version.get("name") for version in versions]
    for version in versions:
        if version.get("storage") and version.get("name") not in stored:
            errors.append(invalid(path, stored, f"must have the storage version {version.get('name')}"))
    for position, name in enumerate(stored):
        if name not in known:
            text = (
                f"missing from spec.versions; {name} was previously a storage version, and must remain in "
                f"spec.versions until a storage migration ensures no data remains persisted in {name} and "
                f"removes {name} from status.storedVersions"
            )
            errors.append(invalid(index(path, position), name, text))
    return errors


def _lift(versions: list[Object]) -> tuple[Object, list[Object]]:
    """What all versions share, and the versions without it."""
    shared: Object = {}
    for name in _LIFTED if versions else ():
        first = versions[0].get(name)
        if all(equal(version.get(name), first) for version in versions):
            shared[name] = first
    return shared, [{name: value for name, value in each.items() if name not in shared} for each in versions]


def _spec_errors(spec: Object, *, known_review_version: bool) -> list[FieldError]:
    errors = _group_errors(spec.get("group") or "")
    scope = spec.get("scope") or ""
    if not scope:
        errors.append(required("spec.scope"))
    elif scope not in ("Cluster", "Namespaced"):
        errors.append(not_supported("spec.scope", scope, ("Cluster", "Namespaced")))
    versions = spec.get("versions") or []
    shared, remaining = _lift(versions)
    if (shared.get("schema") or {}).get("openAPIV3Schema") is None:
        for position, version in enumerate(remaining):
            if (version.get("schema") or {}).get("openAPIV3Schema") is None:
                errors.append(required(f"{index('spec.versions', position)}.schema.openAPIV3Schema"))
    for position, version in enumerate(remaining):
        path = index("spec.versions", position)
        texts = names.dns1035_label(version.get("name") or "")
        if texts:
            errors.append(invalid(f"{path}.name", version.get("name") or "", ",".join(texts)))
        errors += _version_errors(version, path, _status_enabled(versions[position]))
    errors += _versions_errors(remaining)
    # The first version's name is also the spec's `version` of old.
    texts = names.dns1035_label(versions[0].get("name") or "") if versions and versions[0].get("name") else []
    if texts:
        errors.append(invalid("spec.version", versions[0]["name"], ",".join(texts)))
    resource = spec.get("names") or {}
    errors += [
        required(f"spec.names.{name}") for name in ("plural", "singular", "kind", "listKind") if not resource.get(name)
    ]
    errors += names_errors(resource, "spec.names")
    any_status = any(_status_enabled(version) for version in versions)
    errors += _schema_errors(shared.get("schema") or {}, "spec.validation", any_status)
    errors += subresource_errors(shared.get("subresources") or {}, "spec.subresources")
    for position, column in enumerate(shared.get("additionalPrinterColumns") or ()):
        errors += column_errors(column, index("spec.additionalPrinterColumns", position))
    if shared.get("selectableFields"):
        schema = (shared.get("schema") or {}).get("openAPIV3Schema")
        if "schema" not in shared or schema is None:
            text = "may only be set when validations.schema is included"
            errors.append(invalid("spec.selectableFields", "", text))
        else:
            errors += selectable_field_errors(shared["selectableFields"], schema, "spec.selectableFields")
    return errors + conversion_errors(spec.get("conversion"), "spec.conversion", known_review_version)


def _group_errors(group: str) -> list[FieldError]:
    texts = names.dns_subdomain(group) if group else []
    if not group:
        return [required("spec.group")]
    if texts:
        return [invalid("spec.group", group, ",".join(texts))]
    return [] if "." in group else [invalid("spec.group", group, "should be a domain with at least one dot")]


def _status_enabled(version: Object) -> bool:
    return (version.get("subresources") or {}).get("status") is not None


def _versions_errors(versions: list[Object]) -> list[FieldError]:
    errors: list[FieldError] = []
    version_names = [version.get("name") for version in versions]
    unique = len(set(version_names)) == len(version_names)
    one_storage = sum(bool(version.get("storage")) for version in versions) == 1
    if unique and one_storage:
        return errors
    value = printed("[]apiextensions.CustomResourceDefinitionVersion", versions or None)
    if not unique:
        errors.append(invalid("spec.versions", value, "must contain unique version names"))
    if not one_storage:
        text = "must have exactly one version marked as storage version"
        errors.append(invalid("spec.versions", value, text))
    return errors


def _version_errors(version: Object, path: str, status_enabled: bool) -> list[FieldError]:
    errors: list[FieldError] = []
    warning = version.get("deprecationWarning")
    for text in _warning_texts(bool(version.get("deprecated")), warning):
        errors.append(invalid(f"{path}.deprecationWarning", warning, text))
    errors += _schema_errors(version.get("schema") or {}, f"{path}.schema", status_enabled)
    errors += subresource_errors(version.get("subresources") or {}, f"{path}.subresources")
    for position, column in enumerate(version.get("additionalPrinterColumns") or ()):
        errors += column_errors(column, index(f"{path}.additionalPrinterColumns", position))
    if version.get("selectableFields"):
        schema = (version.get("schema") or {}).get("openAPIV3Schema")
        if schema is None:
            text = "may only be set when `version.schema.openAPIV3Schema` is not included"
            errors.append(invalid(f"{path}.selectableFields", "", text))
        else:
            errors += selectable_field_errors(version["selectableFields"], schema, f"{path}.selectableFields")
    return errors


def _warning_texts(deprecated: bool, warning: str | None) -> list[str]:
    if warning is None:
        return []
    if not deprecated:
        return ["can only be set for deprecated versions"]
    texts = ["must be <= 256 characters long"] if len(warning.encode()) > 256 else []
    if not warning:
        texts.append("must not be an empty string")
    for position, character in enumerate(warning):
        if not character.isprintable():
            at = len(warning[:position].encode())
            texts.append(f"must only contain printable UTF-8 characters; non-printable character found at index {at}")
            break
    return texts


def _schema_errors(validation: Object, path: str, status_enabled: bool) -> list[FieldError]:
    schema = validation.get("openAPIV3Schema")
    if schema is None:
        return []
    path = f"{path}.openAPIV3Schema"
    errors = _root_errors(schema, path) if status_enabled else []
    if schema.get("nullable"):
        errors.append(forbidden(f"{path}.nullable", "nullable cannot be true at the root"))
    why = unsupported(schema)
    sound = False
    if not why:
        structural = structural_errors(schema, path) or default_errors(schema, path)
        errors += structural
        sound = not structural
    errors += openapi_schema_errors(schema, path, compile_rules=sound)
    if not errors and why:
        errors.append(invalid(path, "", why))
    return errors


def _root_errors(schema: Mapping[str, Any], path: str) -> list[FieldError]:
    for name in sorted(schema, key=lambda each: list(_ALLOWED_AT_ROOT).index(each) if each in _ALLOWED_AT_ROOT else 99):
        if not schema[name]:
            continue
        if name == "type" and schema["type"] != "object":
            text = 'only "object" is allowed as the type at the root of the schema if the status subresource is enabled'
            return [invalid(f"{path}.type", schema["type"], text)]
        if name not in _ALLOWED_AT_ROOT:
            listed = plain_list(list(_ALLOWED_AT_ROOT.values()))
            text = f"only {listed} fields are allowed at the root of the schema if the status subresource is enabled"
            return [invalid(path, printed("apiextensions.JSONSchemaProps", schema), text)]
    return []
