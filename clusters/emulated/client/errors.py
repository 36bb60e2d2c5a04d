"""What a client catches: one class per reason that callers handle differently, and one mapping to them."""

from __future__ import annotations

from typing import Any

Status = dict[str, Any]


class ApiFailure(Exception):
    """The api-server refused, or could not be reached (`code` 0). `status` is the Status body, if any."""

    def __init__(self, code: int, message: str, status: Status | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.status = status or {}

    @property
    def reason(self) -> str:
        return str(self.status.get("reason", ""))

    @property
    def retry_after_s(self) -> int:
        return int((self.status.get("details") or {}).get("retryAfterSeconds") or 0)


class NotFound(ApiFailure):
    """It is gone, or never was. Usually the end of the work on it."""


class AlreadyExists(ApiFailure):
    """Somebody (perhaps this very component, before a restart) created it. Look at it and adopt or give up."""


class Conflict(ApiFailure):
    """It changed since it was read. Read it again (the informer will have it) and decide again."""


class Expired(ApiFailure):
    """410: this resourceVersion or continue token is too old. List anew."""


class Invalid(ApiFailure):
    """422: the object is wrong; sending it again changes nothing."""


class Forbidden(ApiFailure):
    """403: not allowed, or admission said no (quota, a terminating namespace)."""


class Unauthorized(ApiFailure):
    """401: get new credentials."""


class TooManyRequests(ApiFailure):
    """429: wait `retry_after_s`, then try again (evictions: a disruption budget says no)."""


class ServerTimeout(ApiFailure):
    """The server could not do it in time; it may still have happened."""


class Unreachable(ApiFailure):
    """No answer at all: connection refused, cut or timed out. It may still have happened."""


_BY_REASON: dict[str, type[ApiFailure]] = {
    "NotFound": NotFound,
    "AlreadyExists": AlreadyExists,
    "Conflict": Conflict,
    "Expired": Expired,
    "Gone": Expired,
    "Invalid": Invalid,
    "Forbidden": Forbidden,
    "Unauthorized": Unauthorized,
    "TooManyRequests": TooManyRequests,
    "Timeout": ServerTimeout,
    "ServerTimeout": ServerTimeout,
}
_BY_CODE: dict[int, type[ApiFailure]] = {
    401: Unauthorized,
    403: Forbidden,
    404: NotFound,
    409: Conflict,
    410: Expired,
    422: Invalid,
    429: TooManyRequests,
    504: ServerTimeout,
}


def failure(code: int, status: Status, text: str = "") -> ApiFailure:
    """The error for an answer of 400 or more."""
    kind = _BY_REASON.get(status.get("reason", "")) or _BY_CODE.get(code, ApiFailure)
    return kind(code, status.get("message") or text or f"the server answered {code}", status)
