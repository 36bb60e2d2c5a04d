"""Fields of features that are off: the server drops them, unless the stored object already has them."""

from __future__ import annotations

from typing import Any

from clusters.emulated.apiserver.validation.pod.options import containers_of

Object = dict[str, Any]


def drop_disabled_template_fields(template: Object, old: Object | None = None) -> None:
    drop_disabled_fields(template.get("spec") or {}, (old or {}).get("spec"))


def drop_disabled_fields(spec: Object, old: Object | None = None) -> None:
    """Stop signals, cluster trust bundles, pod certificates and scheduling groups are off in v1.36."""
    if "schedulingGroup" in spec and (old or {}).get("schedulingGroup") is None:
        del spec["schedulingGroup"]
    for field in ("clusterTrustBundle", "podCertificate"):
        if old is None or not any(field in source for source in _projections(old)):
            for source in _projections(spec):
                source.pop(field, None)
    if old is None or not any("stopSignal" in (each.get("lifecycle") or {}) for each in containers_of(old)):
        for container in containers_of(spec):
            lifecycle = container.get("lifecycle")
            if lifecycle and lifecycle.pop("stopSignal", None) is not None and not lifecycle:
                del container["lifecycle"]


def _projections(spec: Object) -> list[Object]:
    return [
        source
        for volume in spec.get("volumes") or ()
        for source in (volume.get("projected") or {}).get("sources") or ()
    ]
