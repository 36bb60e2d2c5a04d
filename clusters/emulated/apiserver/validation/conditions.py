"""metav1.Condition lists, as PodDisruptionBudget and CertificateSigningRequest-like statuses have them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from clusters.emulated.apiserver.validation.fields import named
from clusters.kube import names
from clusters.kube.field import FieldError, duplicate, index, invalid, not_supported, required, too_long

_REASON = "[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?"
_is_reason = re.compile(_REASON).fullmatch
_REASON_ERROR = names.regex_error(
    "a condition reason must start with alphabetic character, optionally followed by a string of alphanumeric "
    "characters or '_,:', and must end with an alphanumeric character or '_'",
    _REASON, "my_name", "MY_NAME", "MyName", "ReasonA,ReasonB", "ReasonA:ReasonB",
)  # fmt: skip
_REASON_BYTES_MAX = 1024
_MESSAGE_BYTES_MAX = 32 * 1024
_STATUSES = ("False", "True", "Unknown")


def condition_errors(conditions: Sequence[dict[str, Any]], path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    seen: set[str] = set()
    for position, condition in enumerate(conditions):
        condition_path = index(path, position)
        type_name = condition.get("type") or ""
        if type_name in seen:
            errors.append(duplicate(f"{condition_path}.type", type_name))
        seen.add(type_name)
        errors += _one_condition_errors(condition, condition_path)
    return errors


def _one_condition_errors(condition: dict[str, Any], path: str) -> list[FieldError]:
    errors = named(f"{path}.type", condition.get("type") or "", names.qualified_name)
    if condition.get("status") not in _STATUSES:
        errors.append(not_supported(f"{path}.status", condition.get("status") or "", _STATUSES))
    generation = condition.get("observedGeneration") or 0
    if generation < 0:
        text = "must be greater than or equal to zero"
        errors.append(invalid(f"{path}.observedGeneration", generation, text))
    if not condition.get("lastTransitionTime"):
        errors.append(required(f"{path}.lastTransitionTime"))
    reason = condition.get("reason") or ""
    if not reason:
        errors.append(required(f"{path}.reason"))
    else:
        if not _is_reason(reason):
            errors.append(invalid(f"{path}.reason", reason, _REASON_ERROR))
        if len(reason.encode()) > _REASON_BYTES_MAX:
            errors.append(too_long(f"{path}.reason", _REASON_BYTES_MAX))
    if len((condition.get("message") or "").encode()) > _MESSAGE_BYTES_MAX:
        errors.append(too_long(f"{path}.message", _MESSAGE_BYTES_MAX))
    return errors
