"""Issuing ServiceAccount tokens: what TokenRequest validates, and the claims a token gets.

The registry looks the objects up; everything here is decided from what it is handed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from clusters.emulated.apiserver.authentication.jwt import SigningKey
from clusters.emulated.apiserver.authentication.service_account_names import username
from clusters.emulated.apiserver.authentication.service_accounts import LEGACY_ISSUER
from clusters.emulated.apiserver.objects import Object
from clusters.emulated.clock.clock import rfc3339
from clusters.kube import errors, field
from clusters.kube.gostring import quote

DEFAULT_EXPIRATION_S = 3600
MIN_EXPIRATION_S = 600
MAX_EXPIRATION_S = 1 << 32
# What kubelets ask for on behalf of projected volumes; such tokens live a year and are only warned about.
WARN_ONLY_EXPIRATION_S = 3607
EXTENDED_EXPIRATION_S = 365 * 24 * 3600
_KIND = "TokenRequest.authentication.k8s.io"
_RESOURCES = {"Pod": "pods", "Node": "nodes", "Secret": "secrets"}


@dataclass(frozen=True, slots=True)
class IssuerOptions:
    """The api-server's `--service-account-*` flags."""

    issuer: str = "https://kubernetes.default.svc.cluster.local"
    audiences: tuple[str, ...] = ("https://kubernetes.default.svc.cluster.local",)
    max_expiration_s: int = 0  # 0: no limit
    extend_expiration: bool = True


@dataclass(frozen=True, slots=True)
class Bound:
    """What the token is bound to; a pod's node comes along without being bound itself."""

    pod: Object | None = None
    secret: Object | None = None
    node: Object | None = None


@dataclass(frozen=True, slots=True)
class Issued:
    """The TokenRequest to answer with, warnings for the client, and the id to note for audit."""

    token_request: Object
    warnings: tuple[str, ...]
    credential_id: str


def prepare(token_request: Object, service_account: Object, name: str, options: IssuerOptions, now_s: float) -> Object:
    """The request with its defaults; raises what is wrong with it. `name` is the one in the URL."""
    metadata = dict(token_request.get("metadata") or {})
    account = service_account["metadata"]
    if metadata.get("name", name) != name:
        problem = field.invalid("metadata.name", metadata["name"], "must match the service account name if specified")
        raise errors.invalid(_KIND, name, [problem])
    if metadata.get("namespace", account["namespace"]) != account["namespace"]:
        problem = field.invalid(
            "metadata.namespace",
            metadata["namespace"],
            "must match the service account namespace if specified",
        )
        raise errors.invalid(_KIND, name, [problem])
    if metadata.get("uid", account["uid"]) != account["uid"]:
        raise errors.conflict(
            _KIND,
            name,
            f"the UID in the token request ({metadata['uid']}) does not match "
            f"the UID of the service account ({account['uid']})",
        )
    metadata |= {
        "name": account["name"],
        "namespace": account["namespace"],
        "uid": account["uid"],
        "creationTimestamp": rfc3339(now_s),
    }
    spec = dict(token_request.get("spec") or {})
    spec["audiences"] = list(spec.get("audiences") or options.audiences)
    spec.setdefault("expirationSeconds", DEFAULT_EXPIRATION_S)
    spec.setdefault("boundObjectRef", None)
    problems = _expiration_problems(spec["expirationSeconds"])
    if problems:
        raise errors.invalid(_KIND, "", problems)
    return {**token_request, "metadata": metadata, "spec": spec, "status": {}}


def _expiration_problems(seconds: int) -> list[field.FieldError]:
    where = "spec.expirationSeconds"
    if seconds < MIN_EXPIRATION_S:
        return [field.invalid(where, seconds, "may not specify a duration less than 10 minutes")]
    if seconds > MAX_EXPIRATION_S:
        return [field.invalid(where, seconds, "may not specify a duration larger than 2^32 seconds")]
    return []


def bound_resource(reference: dict[str, str]) -> str:
    """Which resource a boundObjectRef means; raises for kinds that tokens cannot be bound to."""
    api_version, kind = reference.get("apiVersion", ""), reference.get("kind", "")
    group, _, version = api_version.rpartition("/")
    if group or kind not in _RESOURCES:
        raise errors.bad_request(f"cannot bind token to object of type {group}/{version}, Kind={kind}")
    return _RESOURCES[kind]


def check_bound(reference: dict[str, str], found: Object, service_account_name: str) -> None:
    """Is the object that was found the one meant, and may the token be bound to it?"""
    kind = reference["kind"]
    if kind == "Pod" and (found.get("spec") or {}).get("serviceAccountName") != service_account_name:
        raise errors.bad_request(
            f"cannot bind token for serviceaccount {quote(service_account_name)} to pod "
            "running with different serviceaccount name."
        )
    uid = reference.get("uid")
    if uid and found["metadata"].get("uid") != uid:
        raise errors.conflict(
            kind,
            reference.get("name", ""),
            f"the UID in the bound object reference ({uid}) does not match the UID in record. "
            "The object might have been deleted and then recreated",
        )


def issue_token(
    token_request: Object,
    service_account: Object,
    bound: Bound,
    key: SigningKey,
    options: IssuerOptions,
    token_id: str,
    now_s: float,
) -> Issued:
    """Signs a token for a prepared request. `token_id` is the jti, a fresh UUID."""
    spec = dict(token_request["spec"])
    warnings = []
    seconds = int(spec["expirationSeconds"])
    if 0 < options.max_expiration_s < seconds:
        warnings.append(f"requested expiration of {seconds} seconds shortened to {options.max_expiration_s} seconds")
        seconds = spec["expirationSeconds"] = options.max_expiration_s
    lifetime_s, warn_after_s = seconds, 0
    extends = options.extend_expiration and bound.pod is not None and seconds == WARN_ONLY_EXPIRATION_S
    if extends and set(spec["audiences"]) <= set(options.audiences):
        lifetime_s, warn_after_s = EXTENDED_EXPIRATION_S, seconds
        if options.max_expiration_s:
            lifetime_s = min(lifetime_s, options.max_expiration_s)
    issued_s = int(now_s)
    claims: dict[str, Any] = {
        "aud": spec["audiences"],
        "exp": issued_s + lifetime_s,
        "iat": issued_s,
        "iss": options.issuer,
        "jti": token_id,
        "kubernetes.io": _private_claims(service_account, bound, issued_s + warn_after_s if warn_after_s else 0),
        "nbf": issued_s,
        "sub": username(service_account["metadata"]["namespace"], service_account["metadata"]["name"]),
    }
    status = {"token": key.sign(claims), "expirationTimestamp": rfc3339(now_s + seconds)}
    return Issued({**token_request, "spec": spec, "status": status}, tuple(warnings), f"JTI={token_id}")


def _private_claims(service_account: Object, bound: Bound, warn_after_s: int) -> dict[str, Any]:
    claims: dict[str, Any] = {
        "namespace": service_account["metadata"]["namespace"],
        "serviceaccount": _reference(service_account),
    }
    if bound.pod is not None:
        claims["pod"] = _reference(bound.pod)
    if bound.secret is not None:
        claims["secret"] = _reference(bound.secret)
    if bound.node is not None:
        claims["node"] = _reference(bound.node)
    if warn_after_s:
        claims["warnafter"] = warn_after_s
    return claims


def _reference(obj: Object) -> dict[str, str]:
    metadata = obj["metadata"]
    # A pod's node that is gone leaves its name alone.
    return {name: metadata[name] for name in ("name", "uid") if metadata.get(name)}


def legacy_token(service_account: Object, secret_name: str, key: SigningKey) -> str:
    """The everlasting token of a `kubernetes.io/service-account-token` Secret."""
    metadata = service_account["metadata"]
    prefix = "kubernetes.io/serviceaccount/"
    return key.sign(
        {
            "iss": LEGACY_ISSUER,
            f"{prefix}namespace": metadata["namespace"],
            f"{prefix}secret.name": secret_name,
            f"{prefix}service-account.name": metadata["name"],
            f"{prefix}service-account.uid": metadata["uid"],
            "sub": username(metadata["namespace"], metadata["name"]),
        }
    )
