"""What the server accepts in Pods and templates but warns about."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from clusters.emulated.apiserver.validation.pod.annotations import APP_ARMOR, SECCOMP_CONTAINER, SECCOMP_POD
from clusters.emulated.apiserver.validation.pod.resources import amount
from clusters.kube import names
from clusters.kube.field import child, index, key
from clusters.kube.gostring import quote
from clusters.kube.ipaddr import warnings_for_ip

Value = Mapping[str, Any]

DEPRECATED_NODE_LABELS = {
    "beta.kubernetes.io/arch": 'deprecated since v1.14; use "kubernetes.io/arch" instead',
    "beta.kubernetes.io/os": 'deprecated since v1.14; use "kubernetes.io/os" instead',
    "failure-domain.beta.kubernetes.io/region": ('deprecated since v1.17; use "topology.kubernetes.io/region" instead'),
    "failure-domain.beta.kubernetes.io/zone": 'deprecated since v1.17; use "topology.kubernetes.io/zone" instead',
    "beta.kubernetes.io/instance-type": 'deprecated since v1.17; use "node.kubernetes.io/instance-type" instead',
    "app.kubernetes.io/created-by": "deprecated since v1.9",
    "scheduler.alpha.kubernetes.io/preferAvoidPods": "deprecated since v1.22; use Taints and Tolerations instead",
    "node-role.kubernetes.io/master": 'use "node-role.kubernetes.io/control-plane" instead',
}
_DEPRECATED_ANNOTATIONS = {
    "scheduler.alpha.kubernetes.io/critical-pod": (
        'non-functional in v1.16+; use the "priorityClassName" field instead'
    ),
    "security.alpha.kubernetes.io/sysctls": 'non-functional in v1.11+; use the "sysctls" field instead',
    "security.alpha.kubernetes.io/unsafe-sysctls": 'non-functional in v1.11+; use the "sysctls" field instead',
}
_DEPRECATED_VOLUMES = (
    ("photonPersistentDisk", "photonPersistentDisk", "deprecated in v1.11, non-functional in v1.16+"),
    ("gitRepo", "gitRepo", "deprecated in v1.11, and disabled by default in v1.33+"),
    ("scaleIO", "scaleIO", "deprecated in v1.16, non-functional in v1.22+"),
    ("flocker", "flocker", "deprecated in v1.22, non-functional in v1.25+"),
    ("storageos", "storageOS", "deprecated in v1.22, non-functional in v1.25+"),
    ("quobyte", "quobyte", "deprecated in v1.22, non-functional in v1.25+"),
    ("glusterfs", "glusterfs", "deprecated in v1.25, non-functional in v1.26+"),
    ("ephemeral", "ephemeral", ""),
    ("cephfs", "cephfs", "deprecated in v1.28, non-functional in v1.31+"),
    ("rbd", "rbd", "deprecated in v1.28, non-functional in v1.31+"),
)
_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"


def warnings_for_pod(pod: Value) -> list[str]:
    name = (pod.get("metadata") or {}).get("name") or ""
    warnings: list[str] = []
    wrong = names.dns_label(name)
    if wrong:
        text = "this is used in the Pod's hostname, which can result in surprising behavior; a DNS label is recommended"
        warnings.append(f"metadata.name: {text}: [{' '.join(wrong)}]")
    return warnings + _warnings("", pod)


def warnings_for_pod_template(path: str, template: Value | None, old: Value | None = None) -> list[str]:
    return [] if template is None else _warnings(path, template)


def _warnings(path: str, holder: Value) -> list[str]:
    spec, annotations = holder.get("spec") or {}, (holder.get("metadata") or {}).get("annotations") or {}
    at = child(path, "spec")
    warnings = _node_warnings(spec, at)
    for name, text in _DEPRECATED_ANNOTATIONS.items():
        if name in annotations:
            warnings.append(f"{key(child(path, 'metadata', 'annotations'), name)}: {text}")
    if spec.get("volumes"):
        warnings += _volume_warnings(spec["volumes"], f"{at}.volumes")
    warnings += _duplicates(spec.get("hostAliases") or (), "ip", f"{at}.hostAliases", "ip")
    pull_secrets = spec.get("imagePullSecrets") or ()
    warnings += _duplicates(pull_secrets, "name", f"{at}.imagePullSecrets", "name")
    for position, secret in enumerate(pull_secrets):
        if not secret.get("name"):
            warnings.append(f'{at}.imagePullSecrets[{position}].name: invalid empty name ""')
    warnings += _fractional(spec.get("overhead") or {}, f"{at}.overhead")
    if SECCOMP_POD in annotations and (spec.get("securityContext") or {}).get("seccompProfile") is None:
        where = key(child(path, "metadata", "annotations"), SECCOMP_POD)
        warnings.append(f'{where}: non-functional in v1.27+; use the "seccompProfile" field instead')
    for container, where in _containers(spec, at):
        warnings += _container_warnings(container, where, spec, annotations, path)
    warnings += _port_warnings(spec, at)
    grace = spec.get("terminationGracePeriodSeconds")
    if grace is not None and grace < 0:
        text = "must be >= 0; negative values are invalid and will be treated as 1"
        warnings.append(f"{at}.terminationGracePeriodSeconds: {text}")
    warnings += _pod_affinity_warnings(spec.get("affinity") or {}, f"{at}.affinity")
    for position, address in enumerate((spec.get("dnsConfig") or {}).get("nameservers") or ()):
        warnings += warnings_for_ip(f"{at}.dnsConfig.nameservers[{position}]", address)
    for position, alias in enumerate(spec.get("hostAliases") or ()):
        warnings += warnings_for_ip(f"{at}.hostAliases[{position}].ip", alias.get("ip", ""))
    return warnings


def _containers(spec: Value, path: str) -> Iterator[tuple[Value, str]]:
    for kind in ("initContainers", "containers", "ephemeralContainers"):
        for position, container in enumerate(spec.get(kind) or ()):
            yield container, f"{path}.{kind}[{position}]"


def node_selector_term_warnings(term: Value, path: str, *, check_values: bool) -> list[str]:
    warnings: list[str] = []
    for position, expression in enumerate(term.get("matchExpressions") or ()):
        at, name = f"{path}.matchExpressions[{position}]", expression.get("key", "")
        if name in DEPRECATED_NODE_LABELS:
            warnings.append(f"{at}.key: {name} is {DEPRECATED_NODE_LABELS[name]}")
        if check_values:
            for value_position, value in enumerate(expression.get("values") or ()):
                for text in names.label_value(value):
                    warnings.append(f"{at}.values[{value_position}]: {value} is invalid, {text}")
    return warnings


def _node_warnings(spec: Value, path: str) -> list[str]:
    warnings = [
        f"{key(f'{path}.nodeSelector', name)}: {DEPRECATED_NODE_LABELS[name]}"
        for name in spec.get("nodeSelector") or ()
        if name in DEPRECATED_NODE_LABELS
    ]
    affinity = (spec.get("affinity") or {}).get("nodeAffinity") or {}
    at = f"{path}.affinity.nodeAffinity"
    for position, term in enumerate((affinity.get(_REQUIRED) or {}).get("nodeSelectorTerms") or ()):
        where = f"{at}.{_REQUIRED}.nodeSelectorTerms[{position}]"
        warnings += node_selector_term_warnings(term, where, check_values=False)
    for position, term in enumerate(affinity.get(_PREFERRED) or ()):
        where = f"{at}.{_PREFERRED}[{position}].preference"
        warnings += node_selector_term_warnings(term.get("preference") or {}, where, check_values=True)
    for position, constraint in enumerate(spec.get("topologySpreadConstraints") or ()):
        where, topology = f"{path}.topologySpreadConstraints[{position}]", constraint.get("topologyKey", "")
        if topology in DEPRECATED_NODE_LABELS:
            warnings.append(f"{where}.topologyKey: {topology} is {DEPRECATED_NODE_LABELS[topology]}")
        if constraint.get("labelSelector") is None:
            warnings.append(f"{where}.labelSelector: a null labelSelector results in matching no pod")
    return warnings


def _pod_affinity_warnings(affinity: Value, path: str) -> list[str]:
    warnings: list[str] = []
    text = "a null labelSelector results in matching no pod"
    for kind in ("podAffinity", "podAntiAffinity"):
        terms = affinity.get(kind) or {}
        for position, term in enumerate(terms.get(_REQUIRED) or ()):
            if term.get("labelSelector") is None:
                warnings.append(f"{path}.{kind}.{_REQUIRED}[{position}].labelSelector: {text}")
        for position, weighted in enumerate(terms.get(_PREFERRED) or ()):
            if (weighted.get("podAffinityTerm") or {}).get("labelSelector") is None:
                where = f"{path}.{kind}.{_PREFERRED}[{position}].podAffinityTerm.labelSelector"
                warnings.append(f"{where}: {text}")
    return warnings


def _duplicates(items: Sequence[Value], field: str, path: str, what: str) -> list[str]:
    warnings: list[str] = []
    seen: set[str] = set()
    for position, item in enumerate(items):
        value = item.get(field, "")
        if value in seen:
            warnings.append(f"{path}[{position}].{field}: duplicate {what} {quote(value)}")
        seen.add(value)
    return warnings


def _fractional(amounts: Value, path: str) -> list[str]:
    return [
        f"{key(path, name)}: fractional byte value {quote(str(amount(amounts[name])))} is invalid, must be an integer"
        for name in ("memory", "ephemeral-storage")
        if name in amounts and not amount(amounts[name]).is_integer()
    ]


def _container_warnings(container: Value, path: str, spec: Value, annotations: Value, template_path: str) -> list[str]:
    warnings: list[str] = []
    context, name = container.get("securityContext") or {}, container.get("name", "")
    if annotations:
        at = child(template_path, "metadata", "annotations")
        if SECCOMP_CONTAINER + name in annotations and context.get("seccompProfile") is None:
            text = 'non-functional in v1.27+; use the "seccompProfile" field instead'
            warnings.append(f"{key(at, SECCOMP_CONTAINER + name)}: {text}")
        armor = APP_ARMOR + name
        if template_path and armor in annotations and context.get("appArmorProfile") is None:
            from clusters.emulated.apiserver.validation.pod.apparmor import profile_of_annotation

            own = (spec.get("securityContext") or {}).get("appArmorProfile")
            if own is None or own != profile_of_annotation(annotations[armor]):
                text = 'deprecated since v1.30; use the "appArmorProfile" field instead'
                warnings.append(f"{key(at, armor)}: {text}")
    resources = container.get("resources") or {}
    if resources:
        limits, requests = resources.get("limits") or {}, resources.get("requests") or {}
        for resource in ("memory", "ephemeral-storage"):
            for kind, amounts in (("limits", limits), ("requests", requests)):
                if resource in amounts:
                    warnings += _fractional({resource: amounts[resource]}, f"{path}.resources.{kind}")
    return warnings + _env_warnings(container.get("env") or (), f"{path}.env")


def _env_warnings(variables: Sequence[Value], path: str) -> list[str]:
    warnings: list[str] = []
    seen: set[str] = set()
    for position, variable in enumerate(variables):
        name, value = variable.get("name", ""), variable.get("value", "")
        if name in seen:
            reference = f"$({name})"
            if variable.get("valueFrom") is not None or value == reference or reference not in value:
                text = f"hides previous definition of {quote(name)}, which may be dropped when using apply"
                warnings.append(f"{index(path, position)}: {text}")
        seen.add(name)
    return warnings


def _port_warnings(spec: Value, path: str) -> list[str]:
    warnings: list[str] = []
    seen: dict[tuple[int, str], list[tuple[str, Value]]] = {}
    by_name: dict[str, str] = {}
    named: list[str] = []
    for container, where in _containers(spec, path):
        for position, port in enumerate(container.get("ports") or ()):
            at = f"{where}.ports[{position}]"
            host_ip, host_port = port.get("hostIP", ""), port.get("hostPort", 0)
            protocol, number = port.get("protocol", ""), port.get("containerPort", 0)
            name = port.get("name", "")
            if host_ip and not host_port:
                shown = f"{{Name:{name} HostPort:0 ContainerPort:{number} Protocol:{protocol} HostIP:{host_ip}}}"
                warnings.append(f"{at}: hostIP set without hostPort: {shown}")
            others = seen.setdefault((number, protocol), [])
            for other_at, other in others:
                other_ip, other_port = other.get("hostIP", ""), other.get("hostPort", 0)
                if host_ip == other_ip and host_port == other_port:
                    warnings.append(f"{at}: duplicate port definition with {other_at}")
                elif not host_port or not other_port:
                    warnings.append(f"{at}: overlapping port definition with {other_at}")
                elif host_port == other_port and (not host_ip) != (not other_ip):
                    warnings.append(f"{at}: dangerously ambiguous port definition with {other_at}")
            others.append((at, port))
            if name and by_name.setdefault(name, at) != at:
                first = by_name[name]
                text = f"duplicate port name {quote(name)} with {first}"
                named.append(f"{at}: {text}, services and probes that select ports by name will use {first}")
    return warnings + named


def _volume_warnings(volumes: Sequence[Value], path: str) -> list[str]:
    warnings: list[str] = []
    for position, volume in enumerate(volumes):
        for field, shown, text in _DEPRECATED_VOLUMES:
            if volume.get(field) is None:
                continue
            if text:
                warnings.append(f"{path}[{position}].{shown}: {text}")
            elif volume[field].get("volumeClaimTemplate") is not None:
                spec = volume[field]["volumeClaimTemplate"].get("spec") or {}
                where = f"{path}[{position}].ephemeral.volumeClaimTemplate.spec"
                warnings += claim_spec_warnings(spec, where)
    for volume in volumes:
        warnings += _overlap_warnings(volume)
    return warnings


def claim_spec_warnings(spec: Value, path: str) -> list[str]:
    requests = (spec.get("resources") or {}).get("requests") or {}
    if "storage" not in requests or amount(requests["storage"]).is_integer():
        return []
    shown = quote(str(amount(requests["storage"])))
    return [f"{path}.resources.requests[storage]: fractional byte value {shown} is invalid, must be an integer"]


_Path = tuple[str, str]


def _shown_path(path: _Path) -> str:
    return f"{quote(path[0])} ({path[1]})" if path[1] else quote(path[0])


def _overlaps(paths: Sequence[_Path]) -> list[str]:
    texts: list[str] = []
    seen: list[_Path] = []
    for raw, source in paths:
        path = (raw.rstrip("/"), source)
        if path[0]:
            for other in seen:
                one, two = f"{path[0]}/", f"{other[0]}/"
                if other[0] and (one.startswith(two) or two.startswith(one)):
                    texts.append(f"{_shown_path(path)} with {_shown_path(other)}")
        seen.append(path)
    return texts


def _overlap_warnings(volume: Value) -> list[str]:
    name = quote(volume.get("name", ""))
    found: list[tuple[str, list[str]]] = []
    for kind, field, shown in (("configMap", "name", "ConfigMap"), ("secret", "secretName", "Secret")):
        source = volume.get(kind) or {}
        paths = [(item.get("path", ""), "") for item in source.get("items") or ()]
        found.append((f"{shown} {quote(source.get(field, ''))}", _overlaps(paths)))
    files = (volume.get("downwardAPI") or {}).get("items") or ()
    found.append(("DownwardAPI", _overlaps([(file.get("path", ""), "") for file in files])))
    warnings = [f"volume {name} ({what}): overlapping paths: {text}" for what, texts in found for text in texts]
    projected: list[_Path] = []
    for source in (volume.get("projected") or {}).get("sources") or ():
        if not any(value is not None for value in source.values()):
            warnings.append(f"volume {name} (Projected) has no sources provided")
        projected += _projected_paths(source)
    return warnings + [f"volume {name} (Projected): overlapping paths: {text}" for text in _overlaps(projected)]


def _projected_paths(source: Value) -> list[_Path]:
    for kind, shown in (("configMap", "ConfigMap"), ("secret", "Secret")):
        items = (source.get(kind) or {}).get("items")
        if items:
            return [(item.get("path", ""), f"{shown} {quote(source[kind].get('name', ''))}") for item in items]
    files = (source.get("downwardAPI") or {}).get("items")
    if files:
        return [(file.get("path", ""), "DownwardAPI") for file in files]
    if source.get("serviceAccountToken") is not None:
        return [(source["serviceAccountToken"].get("path", ""), "ServiceAccountToken")]
    return []
