"""What the API fills into Pods and Pod templates when it decodes them."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from clusters.emulated.apiserver.validation.pod.image import default_pull_policy
from clusters.emulated.apiserver.validation.pod.resources import (
    aggregate_limits,
    aggregate_requests,
    is_huge_page,
    overcommit_allowed,
    pod_level,
)
from clusters.kube.quantity import QuantityError, parse

Object = dict[str, Any]


@lru_cache(maxsize=8192)
def _rounded_to_milli(text: str) -> str:
    try:
        return str(parse(text).rounded_up(-3))
    except QuantityError:
        return text  # Decoding refuses it; nothing to round.


def default_resource_list(amounts: Object | None) -> None:
    """No resource is measured finer than a thousandth."""
    if amounts:
        for name, amount in amounts.items():
            rounded = _rounded_to_milli(amount)
            if rounded != amount:
                amounts[name] = rounded


def default_resources(resources: Object | None) -> None:
    if resources:
        default_resource_list(resources.get("limits"))
        default_resource_list(resources.get("requests"))


def default_pod(pod: Object) -> None:
    """A Pod's own defaults, then those of its spec."""
    spec = pod.setdefault("spec", {})
    for kind in ("containers", "initContainers"):
        for container in spec.get(kind) or ():
            resources = container.get("resources")
            if resources and resources.get("limits"):
                requests = resources.get("requests")
                if requests is None:
                    requests = resources["requests"] = {}
                for name, amount in resources["limits"].items():
                    requests.setdefault(name, amount)
    if spec.get("resources"):
        _default_pod_resources(spec)
    if spec.get("enableServiceLinks") is None:
        spec["enableServiceLinks"] = True
    if spec.get("hostNetwork"):
        for kind in ("containers", "initContainers"):
            for container in spec.get(kind) or ():
                for port in container.get("ports") or ():
                    if not port.get("hostPort") and port.get("containerPort"):
                        port["hostPort"] = port["containerPort"]
    default_pod_spec(spec)


def _default_pod_resources(spec: Object) -> None:
    resources = spec["resources"]
    limits, requests = resources.get("limits"), resources.get("requests")
    if limits or requests:
        filled = dict(limits or {})
        for name, amount in aggregate_limits(spec).items():
            if is_huge_page(name) and name not in (requests or {}):
                filled.setdefault(name, str(amount))
        if filled:
            resources["limits"] = filled
    if not resources.get("limits"):
        return
    filled = dict(requests or {})
    for name, amount in aggregate_requests(spec).items():
        if name not in filled and pod_level(name) and overcommit_allowed(name):
            filled[name] = str(amount)
    for name, text in resources["limits"].items():
        if name not in filled and pod_level(name):
            filled[name] = text
    if filled:
        resources["requests"] = filled


def default_pod_template(template: Object) -> None:
    """The template of a workload."""
    template.setdefault("metadata", {})
    default_pod_spec(template.setdefault("spec", {}))


def default_pod_spec(spec: Object) -> None:
    for name, value in (
        ("dnsPolicy", "ClusterFirst"),
        ("restartPolicy", "Always"),
        ("schedulerName", "default-scheduler"),
    ):
        if not spec.get(name):
            spec[name] = value
    if spec.get("securityContext") is None:
        spec["securityContext"] = {}
    if spec.get("terminationGracePeriodSeconds") is None:
        spec["terminationGracePeriodSeconds"] = 30
    # `serviceAccount` is an older name of the same field; both are always shown.
    account = spec.get("serviceAccountName") or spec.get("serviceAccount")
    if account:
        spec["serviceAccountName"] = spec["serviceAccount"] = account
    for volume in spec.get("volumes") or ():
        default_volume(volume)
    for container in spec.get("containers") or ():
        _default_container(container)
    for container in spec.get("initContainers") or ():
        _default_container(container)
    for container in spec.get("ephemeralContainers") or ():
        _default_container(container)
    default_resource_list(spec.get("overhead"))
    default_resources(spec.get("resources"))


def _default_container(container: Object) -> None:
    if not container.get("imagePullPolicy"):
        container["imagePullPolicy"] = default_pull_policy(container.get("image", ""))
    if not container.get("terminationMessagePath"):
        container["terminationMessagePath"] = "/dev/termination-log"
    if not container.get("terminationMessagePolicy"):
        container["terminationMessagePolicy"] = "File"
    resources = container.get("resources")
    if resources is None:
        container["resources"] = {}
    elif resources:
        default_resources(resources)
    for port in container.get("ports") or ():
        if not port.get("protocol"):
            port["protocol"] = "TCP"
    for variable in container.get("env") or ():
        source = variable.get("valueFrom")
        if source:
            _default_field_ref(source)
            if source.get("fileKeyRef") is not None and source["fileKeyRef"].get("optional") is None:
                source["fileKeyRef"]["optional"] = False
            # The divisor has no "unset": it is written as zero.
            if source.get("resourceFieldRef") is not None:
                source["resourceFieldRef"].setdefault("divisor", "0")
    for name in ("livenessProbe", "readinessProbe", "startupProbe"):
        probe = container.get(name)
        if probe is not None:
            _default_probe(probe)
    for handler in (container.get("lifecycle") or {}).values():
        if isinstance(handler, dict):
            _default_http_get(handler)


def _default_field_ref(holder: Object) -> None:
    reference = holder.get("fieldRef")
    if reference is not None and not reference.get("apiVersion"):
        reference["apiVersion"] = "v1"


_PROBE = (("timeoutSeconds", 1), ("periodSeconds", 10), ("successThreshold", 1), ("failureThreshold", 3))


def _default_probe(probe: Object) -> None:
    for name, value in _PROBE:
        if not probe.get(name):
            probe[name] = value
    _default_http_get(probe)
    grpc = probe.get("grpc")
    if grpc is not None and grpc.get("service") is None:
        grpc["service"] = ""


def _default_http_get(handler: Object) -> None:
    http = handler.get("httpGet")
    if http is not None:
        if not http.get("path"):
            http["path"] = "/"
        if not http.get("scheme"):
            http["scheme"] = "HTTP"


_SOURCE_DEFAULTS: dict[str, tuple[tuple[str, object], ...]] = {
    "hostPath": (("type", ""),),
    "secret": (("defaultMode", 420),),
    "configMap": (("defaultMode", 420),),
    "downwardAPI": (("defaultMode", 420),),
    "projected": (("defaultMode", 420),),
    "azureDisk": (("cachingMode", "ReadWrite"), ("fsType", "ext4"), ("readOnly", False), ("kind", "Shared")),
}
# These replace the empty string, too: their fields are not pointers.
_SOURCE_NON_EMPTY: dict[str, tuple[tuple[str, str], ...]] = {
    "iscsi": (("iscsiInterface", "default"),),
    "rbd": (("pool", "rbd"), ("user", "admin"), ("keyring", "/etc/ceph/keyring")),
    "scaleIO": (("storageMode", "ThinProvisioned"), ("fsType", "xfs")),
}


def default_volume_source(holder: Object) -> None:
    """The source of a Pod's volume or of a PersistentVolume."""
    for name, source in holder.items():
        if not isinstance(source, dict):
            continue
        for field, value in _SOURCE_DEFAULTS.get(name, ()):
            if source.get(field) is None:
                source[field] = value
        for field, value in _SOURCE_NON_EMPTY.get(name, ()):
            if not source.get(field):
                source[field] = value


def default_volume(volume: Object) -> None:
    if all(name == "name" or source is None for name, source in volume.items()):
        volume["emptyDir"] = {}
        return
    default_volume_source(volume)
    image = volume.get("image")
    if image is not None and not image.get("pullPolicy"):
        image["pullPolicy"] = default_pull_policy(image.get("reference", ""))
    for file in (volume.get("downwardAPI") or {}).get("items") or ():
        _default_downward_file(file)
    for source in (volume.get("projected") or {}).get("sources") or ():
        for file in (source.get("downwardAPI") or {}).get("items") or ():
            _default_downward_file(file)
        token = source.get("serviceAccountToken")
        if token is not None and token.get("expirationSeconds") is None:
            token["expirationSeconds"] = 3600
    template = (volume.get("ephemeral") or {}).get("volumeClaimTemplate")
    if template is not None:
        template.setdefault("metadata", {})
        default_claim_spec(template.setdefault("spec", {}))


def _default_downward_file(file: Object) -> None:
    _default_field_ref(file)
    if file.get("resourceFieldRef") is not None:
        file["resourceFieldRef"].setdefault("divisor", "0")


def default_claim_spec(spec: Object) -> None:
    """A PersistentVolumeClaim's spec, alone or in a template."""
    if spec.get("volumeMode") is None:
        spec["volumeMode"] = "Filesystem"
    resources = spec.get("resources")
    if resources is None:
        spec["resources"] = {}
    else:
        default_resources(resources)
