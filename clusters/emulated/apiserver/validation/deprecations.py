"""Node labels that Kubernetes has replaced: using them gives a warning."""

from __future__ import annotations

from clusters.emulated.apiserver.validation.rules import Object
from clusters.kube.field import index

_NODE_LABELS = {
    "beta.kubernetes.io/arch": 'deprecated since v1.14; use "kubernetes.io/arch" instead',
    "beta.kubernetes.io/os": 'deprecated since v1.14; use "kubernetes.io/os" instead',
    "failure-domain.beta.kubernetes.io/region": 'deprecated since v1.17; use "topology.kubernetes.io/region" instead',
    "failure-domain.beta.kubernetes.io/zone": 'deprecated since v1.17; use "topology.kubernetes.io/zone" instead',
    "beta.kubernetes.io/instance-type": 'deprecated since v1.17; use "node.kubernetes.io/instance-type" instead',
    "app.kubernetes.io/created-by": "deprecated since v1.9",
    "scheduler.alpha.kubernetes.io/preferAvoidPods": "deprecated since v1.22; use Taints and Tolerations instead",
    "node-role.kubernetes.io/master": 'use "node-role.kubernetes.io/control-plane" instead',
}


def node_label_deprecation(label: str) -> str:
    """What to use instead of `label`; empty if it is fine."""
    return _NODE_LABELS.get(label, "")


def selector_warnings(selector: Object, path: str) -> list[str]:
    """A label selector over nodes."""
    warnings: list[str] = []
    for position, expression in enumerate(selector.get("matchExpressions") or ()):
        key = expression.get("key") or ""
        text = node_label_deprecation(key)
        if text:
            warnings.append(f"{index(f'{path}.matchExpressions', position)}.key: {key} is {text}")
    for label in selector.get("matchLabels") or ():
        text = node_label_deprecation(label)
        if text:
            warnings.append(f"{path}.matchLabels.{label}: {text}")
    return warnings
