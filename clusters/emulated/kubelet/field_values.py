"""The downward API: fields and resources of a Pod as text."""

from __future__ import annotations

import re
from typing import Any

from clusters.emulated.kubelet.resources import amounts
from clusters.kube.gostring import quote

Object = dict[str, Any]

_SUBSCRIPT = re.compile(r"metadata\.(labels|annotations)\['(.*)'\]\Z")


class FieldPathError(Exception):
    """There is no such field to refer to."""


def field_value(pod: Object, path: str, pod_ips: tuple[str, ...], host_ip: str) -> str:
    metadata, spec = pod["metadata"], pod["spec"]
    match path:
        case "metadata.name" | "metadata.namespace" | "metadata.uid":
            return str(metadata[path.split(".")[1]])
        case "metadata.labels" | "metadata.annotations":
            return _map(metadata.get(path.split(".")[1]))
        case "spec.nodeName":
            return str(spec.get("nodeName", ""))
        case "spec.serviceAccountName":
            return str(spec.get("serviceAccountName", ""))
        case "spec.restartPolicy":
            return str(spec.get("restartPolicy", ""))
        case "status.hostIP" | "status.hostIPs":
            return host_ip
        case "status.podIP":
            return pod_ips[0] if pod_ips else ""
        case "status.podIPs":
            return ",".join(pod_ips)
        case "status.phase":
            return str((pod.get("status") or {}).get("phase", ""))
    match_ = _SUBSCRIPT.match(path)
    if match_:
        return str((metadata.get(match_.group(1)) or {}).get(match_.group(2), ""))
    raise FieldPathError(f"unsupported fieldPath: {path}")


def _map(values: dict[str, str] | None) -> str:
    return "\n".join(f"{name}={quote(value)}" for name, value in sorted((values or {}).items()))


def resource_value(pod: Object, container_name: str, reference: Object, allocatable: Object) -> str:
    """`limits.cpu` and the like, rounded up to the divisor; a limit that is not set is the node's allocatable."""
    container = next(
        (
            each
            for kind in ("containers", "initContainers")
            for each in pod["spec"].get(kind) or ()
            if each["name"] == (reference.get("containerName") or container_name)
        ),
        None,
    )
    kind, _, name = reference["resource"].partition(".")
    if container is None or kind not in ("limits", "requests"):
        raise FieldPathError(f"unsupported container resource : {reference['resource']}")
    given = amounts((container.get("resources") or {}).get(kind)).get(name)
    if given is None and kind == "limits":
        given = amounts(allocatable).get(name)
    divisor = amounts({name: reference.get("divisor") or "0"})[name]
    if given is None:
        return "0"
    value, by = given.nanos, divisor.nanos or 10**9
    return str(-(-value // by))
