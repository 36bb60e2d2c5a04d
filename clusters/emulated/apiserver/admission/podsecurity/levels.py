"""The namespace labels that choose a level and a version for enforce, audit and warn."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple

from clusters.kube import field
from clusters.kube.field import FieldError

_PREFIX = "pod-security.kubernetes.io/"
_LEVELS = ("privileged", "baseline", "restricted")
_version = re.compile(r"v1\.([0-9]|[1-9][0-9]*)").fullmatch


class LevelVersion(NamedTuple):
    """`restricted:v1.24`; without a minor version it is the latest."""

    level: str
    minor: int | None = None

    def __str__(self) -> str:
        return f"{self.level}:{'latest' if self.minor is None else f'v1.{self.minor}'}"


class Policy(NamedTuple):
    enforce: LevelVersion
    audit: LevelVersion
    warn: LevelVersion

    def is_fully_privileged(self) -> bool:
        return all(each.level == "privileged" for each in self)


PRIVILEGED = LevelVersion("privileged")
DEFAULT = Policy(PRIVILEGED, PRIVILEGED, PRIVILEGED)


def strictness(level: str) -> int:
    return _LEVELS.index(level)


def policy_of(labels: Mapping[str, str] | None) -> tuple[Policy, list[FieldError]]:
    """The policy a namespace asks for. Unreadable labels are errors; enforce then falls back to the
    strictest level, audit and warn to none."""
    if not labels or not any(name.startswith(_PREFIX) for name in labels):
        return DEFAULT, []
    errors: list[FieldError] = []
    modes: dict[str, LevelVersion] = {}
    readable = True
    for mode in ("enforce", "audit", "warn"):
        level, minor = PRIVILEGED
        text = labels.get(_PREFIX + mode)
        if text in _LEVELS:
            level = str(text)
        elif text is not None:
            level = "restricted" if mode == "enforce" else "privileged"
            readable = readable and mode != "enforce"
            why = f"must be one of {', '.join(_LEVELS)}"
            errors.append(field.invalid(field.key("metadata.labels", _PREFIX + mode), text, why))
        version_label = f"{_PREFIX}{mode}-version"
        text = labels.get(version_label)
        if text is not None and text != "latest":
            found = _version(text)
            if found is None:
                why = 'must be "latest" or "v1.x"'
                errors.append(field.invalid(field.key("metadata.labels", version_label), text, why))
            else:
                minor = int(found.group(1))
        modes[mode] = LevelVersion(level, minor)
    enforce, warn = modes["enforce"], modes["warn"]
    if (
        _PREFIX + "warn" not in labels
        and _PREFIX + "enforce" in labels
        and readable
        and strictness(enforce.level) > strictness(warn.level)
    ):
        has_version = f"{_PREFIX}warn-version" in labels
        warn = LevelVersion(enforce.level, warn.minor if has_version else enforce.minor)
    return Policy(enforce, modes["audit"], warn), errors
