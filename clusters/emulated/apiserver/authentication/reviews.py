"""TokenReview (is this token good, and whose is it?) and SelfSubjectReview (who am I?)."""

from __future__ import annotations

from typing import Any

from clusters.emulated.apiserver.authentication.authenticator import Authenticator
from clusters.emulated.apiserver.authentication.outcome import CredentialRefusedError
from clusters.emulated.apiserver.request import UserInfo
from clusters.emulated.clock.clock import rfc3339
from clusters.kube import errors

Object = dict[str, Any]


def user_object(user: UserInfo) -> Object:
    """As authentication.k8s.io/v1 UserInfo; what is empty is left out."""
    found: Object = {}
    if user.name:
        found["username"] = user.name
    if user.uid:
        found["uid"] = user.uid
    if user.groups:
        found["groups"] = list(user.groups)
    if user.extra:
        found["extra"] = {name: list(values) for name, values in sorted(user.extra.items())}
    return found


async def token_review(review: Object, authenticator: Authenticator) -> Object:
    """The review with its status. A bad token is no error: the answer says why it is bad."""
    spec = review.get("spec") or {}
    token = spec.get("token", "")
    if not token:
        raise errors.bad_request("token is required for TokenReview in authentication")
    audiences = tuple(spec.get("audiences") or authenticator.audiences)
    try:
        found = await authenticator.review_token(token, audiences)
    except CredentialRefusedError as refused:
        return {**review, "status": {"user": {}, "error": str(refused)}}
    status: Object = {"authenticated": True, "user": user_object(found.user)}
    if found.audiences:
        status["audiences"] = list(found.audiences)
    return {**review, "status": status}


def self_subject_review(review: Object, user: UserInfo, now_s: float) -> Object:
    """For `kubectl auth whoami`."""
    return {
        "kind": review["kind"],
        "apiVersion": review["apiVersion"],
        "metadata": {"creationTimestamp": rfc3339(now_s)},
        "status": {"userInfo": user_object(user)},
    }
