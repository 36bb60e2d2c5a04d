"""What a webhook answered: read as client-go reads it, verified as the api-server verifies it."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from clusters.emulated.outbound.response import OutboundResponse
from clusters.kube.errors import StatusError
from clusters.kube.gojson import JsonError, loads
from clusters.kube.gostring import quote
from clusters.kube.patch.errors import json_kind
from clusters.kube.schema.catalogue import Catalogue
from clusters.kube.schema.decode import DecodeError, decode
from clusters.kube.schema.model import Struct

Object = dict[str, Any]
_BODY_SHOWN_BYTES = 2048
_TYPE_META = r'struct { APIVersion string "json:\"apiVersion,omitempty\""; Kind string "json:\"kind,omitempty\"" }'
_KNOWN_KINDS = frozenset((("admission.k8s.io/v1", "AdmissionReview"), ("admission.k8s.io/v1beta1", "AdmissionReview")))
_PLAIN_TEXTS = {
    400: "the server rejected our request for an unknown reason",
    401: "the server has asked for the client to provide credentials",
    404: "the server could not find the requested resource",
    405: "the server does not allow this method on the requested resource",
    409: "the server reported a conflict",
    422: "the server rejected our request due to an error in our request",
    429: "the server has received too many requests and has asked us to try again later",
    503: "the server is currently unable to handle the request",
    504: "the server was unable to return a response in the time allotted, but may still be processing the request",
}


class InvalidResponseError(Exception):
    """The response cannot be used; `str()` says why."""


@dataclass(frozen=True, slots=True)
class Answer:
    """`response` of a verified AdmissionReview. `patch` is still base64."""

    allowed: bool
    patch: str = ""
    patch_type: str = ""
    status: Object | None = None
    warnings: list[str] = field(default_factory=list)
    audit_annotations: dict[str, str] = field(default_factory=dict)

    def denial(self, webhook: str) -> StatusError:
        """What the client is told: at least 400, and whatever else the webhook chose."""
        status = self.status or {}
        code = status.get("code") or 0
        message, reason = status.get("message") or "", status.get("reason") or ""
        subject = f"admission webhook {quote(webhook)} denied the request"
        text = f"{subject}: {message or reason}" if message or reason else f"{subject} without explanation"
        details = status.get("details")
        retry_after_s = (details or {}).get("retryAfterSeconds") or 0
        error = StatusError(max(code, 400), reason, text, details)
        error.retry_after_s = retry_after_s
        return error


def response_problem(reply: OutboundResponse) -> str:
    """Why a response with this status is none; empty for a success."""
    code = reply.status
    if 200 <= code <= 206:
        return ""
    given = _status_message(reply.body)
    if given:
        return given
    message = "unknown"
    if _is_text(reply.header("content-type") or ""):
        message = reply.body[:_BODY_SHOWN_BYTES].decode("utf-8", "replace").strip()
    if code in _PLAIN_TEXTS:
        return _PLAIN_TEXTS[code]
    if code in (403, 415):
        return message
    if code == 406:
        missing = "the server was unable to respond with a content type that the client supports"
        return missing if message in ("", "unknown") else message
    if code >= 500:
        return f"an error on the server ({quote(message)}) has prevented the request from succeeding"
    return f"the server responded with the status code {code} but did not return more information"


def _is_text(content_type: str) -> bool:
    return not content_type or content_type.partition(";")[0].strip().lower().startswith("text/")


def _status_message(body: bytes) -> str:
    """A Status in the body speaks for itself."""
    if not body.lstrip().startswith(b"{"):
        return ""
    try:
        found = loads(body)
    except JsonError:
        return ""
    if found.get("kind") != "Status" or found.get("apiVersion") != "v1" or found.get("status") != "Failure":
        return ""
    message = found.get("message")
    return message if isinstance(message, str) else ""


def read_review(reply: OutboundResponse, version: str) -> Object:
    """The AdmissionReview in a response's body. Raises InvalidResponseError."""
    if not reply.body:
        content_type = reply.header("content-type") or ""
        raise InvalidResponseError(
            f"0-length response with status code: {reply.status} and content type: {content_type}"
        )
    raw = _read(reply.body)
    if raw is None:
        return {}
    prefix = "couldn't get version/kind; json parse error: "
    if not isinstance(raw, dict):
        raise InvalidResponseError(
            f"{prefix}json: cannot unmarshal {json_kind(raw)} into Go value of type {_TYPE_META}"
        )
    api_version, kind = raw.get("apiVersion") or "", raw.get("kind") or ""
    for name, value in (("apiVersion", api_version), ("kind", kind)):
        if not isinstance(value, str):
            where = f"Go struct field .{name} of type string"
            raise InvalidResponseError(f"{prefix}json: cannot unmarshal {json_kind(value)} into {where}")
    wanted = f"admission.k8s.io/{version}"
    if (api_version or wanted, kind or "AdmissionReview") != (wanted, "AdmissionReview"):
        raise InvalidResponseError(_wrong_kind(api_version or wanted, kind or "AdmissionReview", version))
    try:
        decoded, _ = decode(_review_struct(version), raw)
    except DecodeError as error:
        raise InvalidResponseError(error.text) from error
    return decoded


def _wrong_kind(api_version: str, kind: str, version: str) -> str:
    if (api_version, kind) in _KNOWN_KINDS:
        other = api_version.rpartition("/")[2]
        return f"converting ({other}.AdmissionReview) to ({version}.AdmissionReview): unknown conversion"
    if (api_version, kind) == ("v1", "Status"):
        return f"converting (v1.Status) to ({version}.AdmissionReview): unknown conversion"
    # Schemes are named after the place in Kubernetes' source where they are made.
    scheme = "pkg/util/webhook/client.go:71"
    return f'no kind {quote(kind)} is registered for version {quote(api_version)} in scheme "{scheme}"'


def _read(body: bytes) -> Any:
    if body.lstrip(b" \t\r\n").startswith(b"{"):
        try:
            return loads(body)
        except JsonError as error:
            raise InvalidResponseError(f"couldn't get version/kind; json parse error: {error}") from error
    import yaml

    try:
        return yaml.safe_load(body.decode("utf-8", "replace"))
    except yaml.YAMLError as error:
        raise InvalidResponseError(_yaml_text(error)) from error


def _yaml_text(error: Exception) -> str:
    mark = getattr(error, "problem_mark", None)
    problem = getattr(error, "problem", None) or "did not find expected content"
    problem = problem.replace("are not allowed here", "are not allowed in this context")
    problem = problem.replace(r"found character '\t' that", "found character that")
    return f"yaml: line {mark.line + 1}: {problem}" if mark is not None and mark.line else f"yaml: {problem}"


@lru_cache(maxsize=2)
def _review_struct(version: str) -> Struct:
    struct = Catalogue.of("1.36").kind("admission.k8s.io", version, "AdmissionReview")
    assert struct is not None, "every catalogue has the review types"
    return struct


def verify(review: Object, uid: str, version: str, *, mutating: bool) -> Answer:
    """Raises InvalidResponseError; v1beta1 was never strict about what came back."""
    response = review.get("response")
    if response is None:
        raise InvalidResponseError("webhook response was absent")
    patch, patch_type = response.get("patch") or "", response.get("patchType")
    if version == "v1":
        _verify_v1(review, response, uid, mutating=mutating)
    elif not mutating:
        patch, patch_type = "", None
    elif patch:
        patch_type = "JSONPatch"
    return Answer(
        allowed=bool(response.get("allowed")),
        patch=patch,
        patch_type=patch_type or "",
        status=response.get("status"),
        warnings=response.get("warnings") or [],
        audit_annotations=response.get("auditAnnotations") or {},
    )


def _verify_v1(review: Object, response: Object, uid: str, *, mutating: bool) -> None:
    given = response.get("uid") or ""
    if given != uid:
        raise InvalidResponseError(f"expected response.uid={quote(uid)}, got {quote(given)}")
    api_version, kind = review.get("apiVersion") or "", review.get("kind") or ""
    if (api_version, kind) != ("admission.k8s.io/v1", "AdmissionReview"):
        group, _, version = api_version.rpartition("/")
        raise InvalidResponseError(
            "expected webhook response of admission.k8s.io/v1, Kind=AdmissionReview, "
            f"got {group}/{version}, Kind={kind}"
        )
    patch, patch_type = response.get("patch"), response.get("patchType")
    if not mutating:
        if patch:
            raise InvalidResponseError("validating webhook may not return response.patch")
        if patch_type is not None:
            raise InvalidResponseError("validating webhook may not return response.patchType")
    elif patch and patch_type is None:
        raise InvalidResponseError("webhook returned response.patch but not response.patchType")
    elif not patch and patch_type is not None:
        raise InvalidResponseError("webhook returned response.patchType but not response.patch")
    elif patch_type == "":
        raise InvalidResponseError('webhook returned invalid response.patchType of ""')
