"""ServiceAccount: every pod runs as one, and gets its token mounted unless somebody said no."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from clusters.emulated.apiserver.admission.attributes import AdmissionPlugin, Attributes
from clusters.emulated.apiserver.admission.denial import forbidden
from clusters.emulated.apiserver.admission.pod_references import secret_names
from clusters.emulated.apiserver.objects import Object, Objects
from clusters.emulated.clock.clock import Clock
from clusters.emulated.clock.randomness import Randomness
from clusters.kube import errors

_VOLUME_PREFIX = "kube-api-access-"
_MOUNT_PATH = "/var/run/secrets/kubernetes.io/serviceaccount"
_ENFORCE_MOUNTABLE = "kubernetes.io/enforce-mountable-secrets"
_MIRROR = "kubernetes.io/config.mirror"
_TRUE = frozenset(("1", "t", "T", "TRUE", "true", "True"))
# The default account is made by a controller soon after its namespace, so it is worth some patience.
_DEFAULT_ACCOUNT_ATTEMPTS = 10


class ServiceAccount(AdmissionPlugin):
    name = "ServiceAccount"
    operations = frozenset(("CREATE", "UPDATE"))
    resources = frozenset(("pods",))

    def __init__(self, objects: Objects, clock: Clock, randomness: Randomness) -> None:
        self._objects = objects
        self._clock = clock
        self._randomness = randomness

    async def admit(self, attributes: Attributes) -> None:
        pod = attributes.object
        if attributes.operation != "CREATE" or attributes.subresource or pod is None:
            return
        spec = pod.setdefault("spec", {})
        if _is_mirror(pod):
            _judge_mirror_pod(attributes, spec)
            return
        name = spec.get("serviceAccountName")
        if not name:
            # The older field of the same meaning is always kept equal.
            name = spec["serviceAccountName"] = spec["serviceAccount"] = spec.get("serviceAccount") or "default"
        account = await self._account(attributes, name)
        if _wants_token(spec, account):
            self._mount_token(spec)
        pull_secrets = account.get("imagePullSecrets")
        if pull_secrets and not spec.get("imagePullSecrets"):
            spec["imagePullSecrets"] = [{"name": each.get("name", "")} for each in pull_secrets]
        _limit_secrets(attributes, account, _secret_problems(spec, account))

    async def validate(self, attributes: Attributes) -> None:
        pod = attributes.object
        if pod is None:
            return
        spec = pod.get("spec") or {}
        if attributes.operation == "CREATE" and not attributes.subresource:
            if _is_mirror(pod):
                _judge_mirror_pod(attributes, spec)
                return
            account = await self._account_of(attributes, spec)
            _limit_secrets(attributes, account, _secret_problems(spec, account))
        elif attributes.operation == "UPDATE" and attributes.subresource == "ephemeralcontainers":
            account = await self._account_of(attributes, spec)
            ephemeral = spec.get("ephemeralContainers") or ()
            problem = next(_container_problems("ephemeral container", ephemeral, account), None)
            if problem is not None and _enforces_mountable(account):
                # Kubernetes forgets to make this one a 403.
                raise errors.unknown(problem)

    async def _account_of(self, attributes: Attributes, spec: Mapping[str, Any]) -> Object:
        name = spec.get("serviceAccountName")
        if not name:
            assert attributes.object is not None
            pod_name = attributes.object.get("metadata", {}).get("name", "")
            why = f"no service account specified for pod {attributes.namespace}/{pod_name}"
            raise forbidden(attributes, why)
        return await self._account(attributes, name)

    async def _account(self, attributes: Attributes, name: str) -> Object:
        namespace = attributes.namespace
        account = self._objects.get("serviceaccounts", namespace, name)
        if account is not None:
            return account
        interval_s = 0.1 + 0.1 * self._randomness.fraction()
        for attempt in range(_DEFAULT_ACCOUNT_ATTEMPTS if name == "default" else 1):
            if attempt:
                await self._clock.sleep(interval_s)
            account = await self._objects.get_live("serviceaccounts", namespace, name)
            if account is not None:
                return account
        why = f'error looking up service account {namespace}/{name}: serviceaccount "{name}" not found'
        raise forbidden(attributes, why)

    def _mount_token(self, spec: Object) -> None:
        volumes = spec.get("volumes") or []
        volume_name = next((each["name"] for each in volumes if each.get("name", "").startswith(_VOLUME_PREFIX)), "")
        has_volume = bool(volume_name)
        mounted = False
        for field in ("initContainers", "containers"):
            for container in spec.get(field) or ():
                mounts = container.get("volumeMounts") or []
                if any(mount.get("mountPath") == _MOUNT_PATH for mount in mounts):
                    continue
                if not volume_name:
                    volume_name = _VOLUME_PREFIX + self._randomness.suffix()
                mount = {"name": volume_name, "readOnly": True, "mountPath": _MOUNT_PATH}
                container["volumeMounts"] = [*mounts, mount]
                mounted = True
        if mounted and not has_volume:
            spec["volumes"] = [*volumes, {"name": volume_name, "projected": token_volume_source()}]


def token_volume_source() -> Object:
    """Token, cluster CA and namespace, as every pod finds them below /var/run/secrets."""
    return {
        "sources": [
            # One hour and seven seconds: the mark by which tokens for legacy clients are recognised.
            {"serviceAccountToken": {"expirationSeconds": 3607, "path": "token"}},
            {"configMap": {"name": "kube-root-ca.crt", "items": [{"key": "ca.crt", "path": "ca.crt"}]}},
            {
                "downwardAPI": {
                    "items": [
                        {
                            "path": "namespace",
                            "fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.namespace"},
                        }
                    ]
                }
            },
        ],
        "defaultMode": 420,
    }


def _is_mirror(pod: Mapping[str, Any]) -> bool:
    return _MIRROR in (pod.get("metadata", {}).get("annotations") or ())


def _wants_token(spec: Mapping[str, Any], account: Mapping[str, Any]) -> bool:
    for owner in (spec, account):
        wish = owner.get("automountServiceAccountToken")
        if wish is not None:
            return bool(wish)
    return True


def _judge_mirror_pod(attributes: Attributes, spec: Mapping[str, Any]) -> None:
    if spec.get("serviceAccountName"):
        raise forbidden(attributes, "a mirror pod may not reference service accounts")
    if next(secret_names(spec), None) is not None:
        raise forbidden(attributes, "a mirror pod may not reference secrets")
    for volume in spec.get("volumes") or ():
        for source in (volume.get("projected") or {}).get("sources") or ():
            if source.get("serviceAccountToken") is not None:
                why = "a mirror pod may not use ServiceAccountToken volume projections"
                raise forbidden(attributes, why)


def _enforces_mountable(account: Mapping[str, Any]) -> bool:
    annotations = account.get("metadata", {}).get("annotations")
    return bool(annotations) and annotations.get(_ENFORCE_MOUNTABLE) in _TRUE


def _limit_secrets(attributes: Attributes, account: Mapping[str, Any], problems: Iterator[str]) -> None:
    if _enforces_mountable(account):
        problem = next(problems, None)
        if problem is not None:
            raise forbidden(attributes, problem)


def _secret_problems(spec: Mapping[str, Any], account: Mapping[str, Any]) -> Iterator[str]:
    allowed = {each.get("name") for each in account.get("secrets") or ()}
    ending = _not_referenced(account)
    for volume in spec.get("volumes") or ():
        secret = volume.get("secret")
        if secret is not None and secret.get("secretName", "") not in allowed:
            yield f'volume with secret.secretName="{secret.get("secretName", "")}" {ending}'
    yield from _container_problems("init container", spec.get("initContainers") or (), account)
    yield from _container_problems("container", spec.get("containers") or (), account)
    pull_secrets = {each.get("name") for each in account.get("imagePullSecrets") or ()}
    for position, reference in enumerate(spec.get("imagePullSecrets") or ()):
        name = reference.get("name", "")
        if name not in pull_secrets:
            account_name = account.get("metadata", {}).get("name", "")
            yield (
                f'imagePullSecrets[{position}].name="{name}" is not allowed because service account '
                f"{account_name} does not reference that imagePullSecret"
            )


def _not_referenced(account: Mapping[str, Any]) -> str:
    name = account.get("metadata", {}).get("name", "")
    return f"is not allowed because service account {name} does not reference that secret"


def _container_problems(word: str, containers: Any, account: Mapping[str, Any]) -> Iterator[str]:
    allowed = {each.get("name") for each in account.get("secrets") or ()}
    ending = _not_referenced(account)
    for container in containers:
        subject = f"{word} {container.get('name', '')} with"
        for variable in container.get("env") or ():
            reference = (variable.get("valueFrom") or {}).get("secretKeyRef")
            if reference is not None and reference.get("name", "") not in allowed:
                secret = f'secret.secretName="{reference.get("name", "")}"'
                yield f"{subject} envVar {variable.get('name', '')} referencing {secret} {ending}"
        for source in container.get("envFrom") or ():
            reference = source.get("secretRef")
            if reference is not None and reference.get("name", "") not in allowed:
                secret = f'secret.secretName="{reference.get("name", "")}"'
                yield f"{subject} envFrom referencing {secret} {ending}"
