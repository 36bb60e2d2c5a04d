"""API errors: a Status with code, reason, message and details, built as Kubernetes builds them.

Raise them anywhere below the request chain; the chain writes `error.status()` as the answer's body.
`resource` is what Kubernetes calls a GroupResource, written `deployments.apps` (core: `pods`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from clusters.kube.field import FieldError, aggregate
from clusters.kube.gostring import quote

Status = dict[str, Any]


class StatusError(Exception):
    """The request ends with this Status. Callers that can go on compare `code` or `reason`."""

    def __init__(
        self,
        code: int,
        reason: str,
        message: str,
        details: Mapping[str, Any] | None = None,
        *,
        retry_after_s: int = 0,
    ) -> None:
        super().__init__(message)
        self.code = code
        self.reason = reason
        self.message = message
        self.details = None if details is None else {name: details[name] for name in details if details[name]}
        self.retry_after_s = retry_after_s
        if retry_after_s:
            self.details = (self.details or {}) | {"retryAfterSeconds": retry_after_s}

    def status(self) -> Status:
        """The body, keys in Kubernetes' order; an empty reason is left out, empty details are kept."""
        status: Status = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure"}
        if self.message:
            status["message"] = self.message
        if self.reason:
            status["reason"] = self.reason
        if self.details is not None:
            status["details"] = self.details
        status["code"] = self.code
        return status


def split_resource(resource: str) -> tuple[str, str]:
    """`deployments.apps` is (`deployments`, `apps`); `pods` is (`pods`, ``)."""
    name, _, group = resource.partition(".")
    return name, group


def _details(resource: str, name: str = "") -> dict[str, Any]:
    plural, group = split_resource(resource)
    return {"name": name, "group": group, "kind": plural}


def not_found(resource: str, name: str) -> StatusError:
    return StatusError(404, "NotFound", f"{resource} {quote(name)} not found", _details(resource, name))


def already_exists(resource: str, name: str) -> StatusError:
    return StatusError(409, "AlreadyExists", f"{resource} {quote(name)} already exists", _details(resource, name))


def generate_name_conflict(resource: str, name: str) -> StatusError:
    return StatusError(
        409,
        "AlreadyExists",
        f"{resource} {quote(name)} already exists, the server was not able to generate a unique name for the object",
        _details(resource, name),
        retry_after_s=1,
    )


def unauthorized(message: str = "Unauthorized") -> StatusError:
    return StatusError(401, "Unauthorized", message)


def forbidden(resource: str, name: str, why: str) -> StatusError:
    if not resource:
        return StatusError(403, "Forbidden", f"forbidden: {why}", {})
    subject = f"{resource} {quote(name)}" if name else resource
    return StatusError(403, "Forbidden", f"{subject} is forbidden: {why}", _details(resource, name))


def conflict(resource: str, name: str, why: str) -> StatusError:
    return StatusError(
        409,
        "Conflict",
        f"Operation cannot be fulfilled on {resource} {quote(name)}: {why}",
        _details(resource, name),
    )


MODIFIED = "the object has been modified; please apply your changes to the latest version and try again"


def modified(resource: str, name: str) -> StatusError:
    """The 409 of optimistic locking: the resourceVersion sent is not the current one."""
    return conflict(resource, name, MODIFIED)


def apply_conflict(causes: Sequence[Mapping[str, str]], message: str) -> StatusError:
    return StatusError(409, "Conflict", message, {"causes": list(causes)})


def expired(message: str) -> StatusError:
    return StatusError(410, "Expired", message)


def gone(message: str) -> StatusError:
    return StatusError(410, "Gone", message)


def invalid(kind: str, name: str, errors: Sequence[FieldError]) -> StatusError:
    """`kind` is what Kubernetes calls a GroupKind, written `Deployment.apps` (core: `Pod`)."""
    plain_kind, group = split_resource(kind)
    causes = [
        {
            part: text
            for part, text in (("reason", error.type), ("message", error.body()), ("field", error.field))
            if text
        }
        for error in errors
    ]
    message = f"{kind} {quote(name)} is invalid"
    if errors:
        message = f"{message}: {aggregate(errors)}"
    details = {"name": name, "group": group, "kind": plain_kind, "causes": causes}
    return StatusError(422, "Invalid", message, details)


def bad_request(message: str) -> StatusError:
    return StatusError(400, "BadRequest", message)


def too_many_requests(message: str, retry_after_s: int) -> StatusError:
    return StatusError(429, "TooManyRequests", message, {}, retry_after_s=retry_after_s)


def service_unavailable(message: str) -> StatusError:
    return StatusError(503, "ServiceUnavailable", message)


def method_not_supported(resource: str, action: str) -> StatusError:
    return StatusError(
        405,
        "MethodNotAllowed",
        f"{action} is not supported on resources of kind {quote(resource)}",
        _details(resource),
    )


def server_timeout(resource: str, operation: str, retry_after_s: int = 0) -> StatusError:
    return StatusError(
        500,
        "ServerTimeout",
        f"The {operation} operation against {resource} could not be completed at this time, please try again.",
        _details(resource, operation),
        retry_after_s=retry_after_s,
    )


def internal(why: str) -> StatusError:
    return StatusError(500, "InternalError", f"Internal error occurred: {why}", {"causes": [{"message": why}]})


def timeout(message: str, retry_after_s: int = 0) -> StatusError:
    return StatusError(504, "Timeout", f"Timeout: {message}", {}, retry_after_s=retry_after_s)


def too_large(message: str) -> StatusError:
    return StatusError(413, "RequestEntityTooLarge", f"Request entity too large: {message}")


def unknown(message: str, code: int = 500) -> StatusError:
    """An error that carries no Status of its own: 500 without a reason, the text as it is."""
    return StatusError(code, "", message)


_GENERIC = {
    400: ("BadRequest", "the server rejected our request for an unknown reason"),
    404: ("NotFound", "the server could not find the requested resource"),
    405: ("MethodNotAllowed", "the server does not allow this method on the requested resource"),
    422: ("Invalid", "the server rejected our request due to an error in our request"),
    503: ("ServiceUnavailable", "the server is currently unable to handle the request"),
}


def generic(code: int) -> StatusError:
    """What the server says where it knows the code and nothing else."""
    reason, message = _GENERIC[code]
    return StatusError(code, reason, message, {})
