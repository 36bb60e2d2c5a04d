"""Tokens for kubelets: only for pods bound to the node, only for audiences those pods ask for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from clusters.emulated.apiserver.admission.attributes import Attributes
from clusters.emulated.apiserver.admission.authorizing import Authorize
from clusters.emulated.apiserver.admission.denial import forbidden, joined
from clusters.emulated.apiserver.objects import Objects
from clusters.kube import errors
from clusters.kube.gostring import quote


async def judge_token_request(objects: Objects, authorize: Authorize, node: str, attributes: Attributes) -> None:
    """Refuses a TokenRequest of a node that is not for one of its own pods."""
    spec = (attributes.object or {}).get("spec") or {}
    bound = spec.get("boundObjectRef")
    if not bound or bound.get("apiVersion") != "v1" or bound.get("kind") != "Pod" or not bound.get("name"):
        raise forbidden(attributes, "node requested token not bound to a pod")
    uid = bound.get("uid")
    if not uid:
        raise forbidden(attributes, "node requested token with a pod binding without a uid")
    pod = objects.get("pods", attributes.namespace, bound["name"])
    if pod is None:
        raise errors.not_found("pod", bound["name"])
    if uid != pod["metadata"].get("uid"):
        why = (
            f"the UID in the bound object reference ({uid}) does not match the UID in record. "
            "The object might have been deleted and then recreated"
        )
        raise forbidden(attributes, why)
    if (pod.get("spec") or {}).get("nodeName", "") != node:
        raise forbidden(attributes, "node requested token bound to a pod scheduled on a different node")
    await _judge_audience(objects, authorize, attributes, pod, spec.get("audiences") or [])


async def _judge_audience(
    objects: Objects,
    authorize: Authorize,
    attributes: Attributes,
    pod: Mapping[str, Any],
    audiences: list[str],
) -> None:
    if len(audiences) > 1:
        raise forbidden(attributes, "node may only request 0 or 1 audiences")
    audience = audiences[0] if audiences else ""
    problems: list[str] = []
    if audience in _audiences(objects, pod, problems):
        return
    if problems:
        raise forbidden(attributes, f"error validating audience {quote(audience)}: {joined(problems)}")
    user = attributes.user
    verb = "request-serviceaccounts-token-audience"
    if not await authorize(user, verb, "", audience, "", attributes.namespace, attributes.name):
        why = (
            f"audience {quote(audience)} not found in pod spec volume, "
            f"{user.name} is not authorized to request tokens for this audience"
        )
        raise forbidden(attributes, why)


def _audiences(objects: Objects, pod: Mapping[str, Any], problems: list[str]) -> Iterator[str]:
    for volume in (pod.get("spec") or {}).get("volumes") or ():
        for source in (volume.get("projected") or {}).get("sources") or ():
            if source.get("serviceAccountToken") is not None:
                yield source["serviceAccountToken"].get("audience", "")
        driver = _driver(objects, pod, volume, problems)
        if not driver:
            continue
        found = objects.get("csidrivers.storage.k8s.io", "", driver)
        if found is None:
            problems.append(f"csidriver.storage.k8s.io {quote(driver)} not found")
            continue
        for request in (found.get("spec") or {}).get("tokenRequests") or ():
            yield request.get("audience", "")


def _driver(objects: Objects, pod: Mapping[str, Any], volume: Mapping[str, Any], problems: list[str]) -> str:
    metadata = pod["metadata"]
    if (volume.get("ephemeral") or {}).get("volumeClaimTemplate"):
        claim = f"{metadata['name']}-{volume['name']}"
    elif volume.get("persistentVolumeClaim"):
        claim = volume["persistentVolumeClaim"].get("claimName", "")
    else:
        return str((volume.get("csi") or {}).get("driver", ""))
    found = objects.get("persistentvolumeclaims", metadata.get("namespace", ""), claim)
    if found is None:
        problems.append(f"persistentvolumeclaim {quote(claim)} not found")
        return ""
    volume_name = (found.get("spec") or {}).get("volumeName", "")
    persistent = objects.get("persistentvolumes", "", volume_name)
    if persistent is None:
        problems.append(f"persistentvolume {quote(volume_name)} not found")
        return ""
    return str(((persistent.get("spec") or {}).get("csi") or {}).get("driver", ""))
