"""The environment of a container: services, envFrom, env with its references, expanded in the order they are given."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from clusters.emulated.kubelet.expansion import expand
from clusters.emulated.kubelet.field_values import FieldPathError, field_value, resource_value
from clusters.emulated.kubelet.references import MissingReferenceError, References, UnusableReferenceError

Object = dict[str, Any]

_PATH: Final = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


class UnusableEnvironmentError(Exception):
    """The container cannot be configured; the text is the kubelet's."""


@dataclass(frozen=True, slots=True)
class EnvironmentInputs:
    pod_ips: tuple[str, ...]
    host_ip: str
    allocatable: Object
    services: Sequence[Object]


async def environment(
    pod: Object, container: Object, references: References, inputs: EnvironmentInputs
) -> dict[str, str]:
    """Raises `UnusableEnvironmentError`."""
    namespace = pod["metadata"]["namespace"]
    links = service_variables(namespace, inputs.services, pod["spec"].get("enableServiceLinks", True))
    found: dict[str, str] = {}
    try:
        for source in container.get("envFrom") or ():
            found |= await _source(namespace, source, references)
        for variable in container.get("env") or ():
            value = await _value(pod, container, variable, references, inputs, {**links, **found})
            if value is not None:
                found[variable["name"]] = value
    except (UnusableReferenceError, FieldPathError) as error:
        raise UnusableEnvironmentError(str(error)) from error
    base = {"PATH": _PATH, "HOSTNAME": pod["metadata"]["name"]}
    return {**base, **links, **found, "HOME": found.get("HOME", "/root")}


async def _source(namespace: str, source: Object, references: References) -> dict[str, str]:
    prefix = source.get("prefix", "")
    for kind in ("configMapRef", "secretRef"):
        reference = source.get(kind)
        if reference is None:
            continue
        try:
            if kind == "configMapRef":
                data = await references.config_map(namespace, reference["name"])
            else:
                data = (await references.secret(namespace, reference["name"]))["data"]
        except MissingReferenceError:
            if reference.get("optional"):
                return {}
            raise
        return {prefix + name: value for name, value in data.items()}
    return {}


async def _value(
    pod: Object,
    container: Object,
    variable: Object,
    references: References,
    inputs: EnvironmentInputs,
    known: dict[str, str],
) -> str | None:
    if variable.get("value"):
        return expand(variable["value"], known)
    source = variable.get("valueFrom") or {}
    if "fieldRef" in source:
        return field_value(pod, source["fieldRef"]["fieldPath"], inputs.pod_ips, inputs.host_ip)
    if "resourceFieldRef" in source:
        return resource_value(pod, container["name"], source["resourceFieldRef"], inputs.allocatable)
    for kind, shown in (("configMapKeyRef", "ConfigMap"), ("secretKeyRef", "Secret")):
        if kind in source:
            return await _key(pod["metadata"]["namespace"], source[kind], shown, references)
    return ""


async def _key(namespace: str, reference: Object, shown: str, references: References) -> str | None:
    name, key, optional = reference["name"], reference["key"], bool(reference.get("optional"))
    try:
        if shown == "ConfigMap":
            data = await references.config_map(namespace, name)
        else:
            data = (await references.secret(namespace, name))["data"]
    except MissingReferenceError:
        if optional:
            return None
        raise
    if key in data:
        return data[key]
    if optional:
        return None
    raise UnusableReferenceError(f"couldn't find key {key} in {shown} {namespace}/{name}")


def service_variables(namespace: str, services: Iterable[Object], links: bool) -> dict[str, str]:
    """NAME_SERVICE_HOST and the like: of `kubernetes` in default, and of the namespace's own services."""
    found: dict[str, str] = {}
    for service in services:
        metadata, address = service["metadata"], service["spec"].get("clusterIP")
        is_master = metadata["namespace"] == "default" and metadata["name"] == "kubernetes"
        if address in (None, "", "None") or not (is_master or (links and metadata["namespace"] == namespace)):
            continue
        ports = service["spec"].get("ports") or []
        if not ports:
            continue
        prefix = metadata["name"].upper().replace("-", "_")
        found[f"{prefix}_SERVICE_HOST"] = address
        found[f"{prefix}_SERVICE_PORT"] = str(ports[0]["port"])
        for index, port in enumerate(ports):
            if port.get("name"):
                found[f"{prefix}_SERVICE_PORT_{port['name'].upper().replace('-', '_')}"] = str(port["port"])
            protocol = port.get("protocol", "TCP")
            host = f"[{address}]" if ":" in address else address
            url = f"{protocol.lower()}://{host}:{port['port']}"
            if index == 0:
                found[f"{prefix}_PORT"] = url
            one = f"{prefix}_PORT_{port['port']}_{protocol.upper()}"
            found |= {
                one: url,
                f"{one}_PROTO": protocol.lower(),
                f"{one}_PORT": str(port["port"]),
                f"{one}_ADDR": address,
            }
    return found
