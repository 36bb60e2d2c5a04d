"""Environment variables and where their values come from; the downward API's field and resource references."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from clusters.emulated.apiserver.validation.paths import no_backsteps
from clusters.emulated.apiserver.validation.pod.resources import amount
from clusters.kube import names
from clusters.kube.field import FieldError, child, index, invalid, not_supported, required

Value = Mapping[str, Any]

ENV_FIELD_PATHS = (
    "metadata.name", "metadata.namespace", "metadata.uid", "spec.nodeName", "spec.serviceAccountName",
    "status.hostIP", "status.hostIPs", "status.podIP", "status.podIPs",
)  # fmt: skip
VOLUME_FIELD_PATHS = (
    "metadata.annotations", "metadata.labels", "metadata.name", "metadata.namespace", "metadata.uid",
)  # fmt: skip
_KNOWN_FIELD_PATHS = frozenset(
    (*ENV_FIELD_PATHS, *VOLUME_FIELD_PATHS, "spec.restartPolicy", "spec.schedulerName", "status.phase", "spec.host")
)
_RESOURCES = (
    "limits.cpu", "limits.ephemeral-storage", "limits.memory",
    "requests.cpu", "requests.ephemeral-storage", "requests.memory",
)  # fmt: skip
_HUGE_PAGES = ("requests.hugepages-", "limits.hugepages-")
_BYTE_DIVISORS = frozenset(("1", "1k", "1M", "1G", "1T", "1P", "1E", "1Ki", "1Mi", "1Gi", "1Ti", "1Pi", "1Ei"))
_BYTE_DIVISOR_TEXT = (
    "only divisor's values 1, 1k, 1M, 1G, 1T, 1P, 1E, 1Ki, 1Mi, 1Gi, 1Ti, 1Pi, 1Ei are supported with the"
)


def env_errors(variables: Sequence[Value], path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    for position, variable in enumerate(variables):
        name = variable.get("name", "")
        if not name:
            errors.append(required(f"{path}[{position}].name"))
        else:
            errors += [invalid(f"{path}[{position}].name", name, text) for text in names.env_var_name(name)]
        source = variable.get("valueFrom")
        if source is not None:
            errors += _value_from(source, variable.get("value"), f"{path}[{position}].valueFrom")
    return errors


def _value_from(source: Value, value: object, path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    found = 0
    if source.get("fieldRef") is not None:
        found += 1
        errors += field_ref_errors(source["fieldRef"], ENV_FIELD_PATHS, child(path, "fieldRef"))
    if source.get("resourceFieldRef") is not None:
        found += 1
        errors += resource_ref_errors(source["resourceFieldRef"], child(path, "resourceFieldRef"), in_volume=False)
    for name in ("configMapKeyRef", "secretKeyRef"):
        if source.get(name) is not None:
            found += 1
            errors += _key_selector(source[name], child(path, name))
    if source.get("fileKeyRef") is not None:
        found += 1
        errors += _file_key_selector(source["fileKeyRef"], child(path, "fileKeyRef"))
    if not found:
        text = "must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef`, `secretKeyRef` or `fileKeyRef`"
        errors.append(invalid(path, "", text))
    elif value:
        errors.append(invalid(path, "", "may not be specified when `value` is not empty"))
    elif found > 1:
        errors.append(invalid(path, "", "may not have more than one field specified at a time"))
    return errors


def _key_selector(selector: Value, path: str) -> list[FieldError]:
    name, wanted = selector.get("name", ""), selector.get("key", "")
    errors = [invalid(child(path, "name"), name, text) for text in names.dns_subdomain(name)]
    if not wanted:
        errors.append(required(child(path, "key")))
    else:
        errors += [invalid(child(path, "key"), wanted, text) for text in names.config_map_key(wanted)]
    return errors


def _file_key_selector(selector: Value, path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    wanted, volume, file = (selector.get(name, "") for name in ("key", "volumeName", "path"))
    if not wanted:
        errors.append(required(child(path, "key")))
    else:
        errors += [invalid(child(path, "key"), wanted, text) for text in names.env_var_name(wanted)]
    if not volume:
        errors.append(required(child(path, "volumeName")))
    else:
        errors += [invalid(child(path, "volumeName"), volume, text) for text in names.dns_label(volume)]
    if not file:
        errors.append(required(child(path, "path")))
    else:
        errors += no_backsteps(file, child(path, "path"))
    return errors


def env_from_errors(sources: Sequence[Value], path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    for position, source in enumerate(sources):
        at = index(path, position)
        prefix = source.get("prefix")
        if prefix:
            errors += [invalid(child(at, "prefix"), prefix, text) for text in names.env_var_name(prefix)]
        found = 0
        for kind in ("configMapRef", "secretRef"):
            if source.get(kind) is None:
                continue
            found += 1
            name, where = source[kind].get("name", ""), f"{at}.{kind}.name"
            if not name:
                errors.append(required(where))
            else:
                errors += [invalid(where, name, text) for text in names.dns_subdomain(name, True)]
        if not found:
            errors.append(invalid(path, "", "must specify one of: `configMapRef` or `secretRef`"))
        elif found > 1:
            errors.append(invalid(path, "", "may not have more than one field specified at a time"))
    return errors


def _split_subscript(path: str) -> tuple[str, str] | None:
    """`metadata.labels['a']` is (`metadata.labels`, `a`)."""
    if not path.endswith("']"):
        return None
    name, bracket, subscript = path[:-2].partition("['")
    return (name, subscript) if bracket and name else None


def field_ref_errors(reference: Value, supported: Sequence[str], path: str) -> list[FieldError]:
    version, field_path = reference.get("apiVersion", ""), reference.get("fieldPath", "")
    if not version:
        return [required(child(path, "apiVersion"))]
    at = child(path, "fieldPath")
    if not field_path:
        return [required(at)]
    subscripted = _split_subscript(field_path)
    wrong = ""
    if version != "v1":
        wrong = f"unsupported pod version: {version}"
    elif subscripted:
        if subscripted[0] not in ("metadata.annotations", "metadata.labels"):
            wrong = f"field label does not support subscript: {field_path}"
    elif field_path not in _KNOWN_FIELD_PATHS:
        wrong = f"field label not supported: {field_path}"
    if wrong:
        return [invalid(at, field_path, f"error converting fieldPath: {wrong}")]
    if subscripted:
        name, subscript = subscripted
        checked = subscript.lower() if name == "metadata.annotations" else subscript
        return [invalid(path, checked, text) for text in names.qualified_name(checked)]
    if field_path == "spec.host":
        field_path = "spec.nodeName"
    return [] if field_path in supported else [not_supported(at, field_path, supported)]


def resource_ref_errors(reference: Value, path: str, *, in_volume: bool) -> list[FieldError]:
    errors: list[FieldError] = []
    resource = reference.get("resource", "")
    if in_volume and not reference.get("containerName"):
        errors.append(required(child(path, "containerName")))
    elif not resource:
        errors.append(required(child(path, "resource")))
    elif resource not in _RESOURCES and not resource.startswith(_HUGE_PAGES):
        errors.append(not_supported(child(path, "resource"), resource, _RESOURCES))
    return errors + _divisor_errors(resource, reference.get("divisor") or "0", path)


def _divisor_errors(resource: str, divisor: str, path: str) -> list[FieldError]:
    if amount(divisor).is_zero():
        return []
    at = child(path, "divisor")
    if resource in ("limits.cpu", "requests.cpu"):
        if divisor not in ("1m", "1"):
            text = "only divisor's values 1m and 1 are supported with the cpu resource"
            return [invalid(at, resource, text)]
        return []
    what = ""
    if resource in ("limits.memory", "requests.memory"):
        what = "memory"
    elif resource in ("limits.ephemeral-storage", "requests.ephemeral-storage"):
        what = "local ephemeral storage"
    elif resource.startswith(_HUGE_PAGES):
        what = "hugepages"
    if what and divisor not in _BYTE_DIVISORS:
        return [invalid(at, resource, f"{_BYTE_DIVISOR_TEXT} {what} resource")]
    return []
