"""Semantic versions, as the blang/semver parser reads them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from clusters.kube.cel import types as t
from clusters.kube.cel.declarations import Row
from clusters.kube.cel.errors import EvaluationError
from clusters.kube.cel.values import Opaque

_DIGITS = frozenset("0123456789")
_ALLOWED = _DIGITS | frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ-")


class Semver(Opaque):
    __slots__ = ("major", "minor", "patch", "pre")
    cel_type = t.SEMVER

    def __init__(self, major: int, minor: int, patch: int, pre: tuple[str, ...]) -> None:
        self.major = major
        self.minor = minor
        self.patch = patch
        self.pre = pre

    def equals(self, other: object) -> bool:
        return isinstance(other, Semver) and compare(self, other) == 0


def compare(left: Semver, right: Semver) -> int:
    """Order by number, then a pre-release before its release; build metadata does not count."""
    mine, theirs = (left.major, left.minor, left.patch), (right.major, right.minor, right.patch)
    if mine != theirs:
        return 1 if mine > theirs else -1
    if not left.pre or not right.pre:
        return (not left.pre) - (not right.pre)
    for a, b in zip(left.pre, right.pre, strict=False):
        if a == b:
            continue
        if a.isdigit() != b.isdigit():
            return -1 if a.isdigit() else 1
        if a.isdigit():
            return 1 if int(a) > int(b) else -1
        return 1 if a > b else -1
    return (len(left.pre) > len(right.pre)) - (len(left.pre) < len(right.pre))


def _number(name: str, text: str) -> int:
    if not text or not _DIGITS.issuperset(text):
        raise EvaluationError(f'Invalid character(s) found in {name} number "{text}"')
    if len(text) > 1 and text[0] == "0":
        raise EvaluationError(f'{name.capitalize()} number must not contain leading zeroes "{text}"')
    if int(text) >= 2**64:
        raise EvaluationError(f'strconv.ParseUint: parsing "{text}": value out of range')
    return int(text)


def parse_semver(text: str) -> Semver:
    if not text:
        raise EvaluationError("Version string empty")
    parts = text.split(".", 2)
    if len(parts) != 3:
        raise EvaluationError("No Major.Minor.Patch elements found")
    major, minor = _number("major", parts[0]), _number("minor", parts[1])
    rest, build_mark, build = parts[2].partition("+")
    number, pre_mark, pre = rest.partition("-")
    patch = _number("patch", number)
    names: list[str] = []
    for name in pre.split(".") if pre_mark else ():
        if not name:
            raise EvaluationError("Prerelease is empty")
        if _DIGITS.issuperset(name):
            if len(name) > 1 and name[0] == "0":
                raise EvaluationError(f'Numeric PreRelease version must not contain leading zeroes "{name}"')
        elif not _ALLOWED.issuperset(name):
            raise EvaluationError(f'Invalid character(s) found in prerelease "{name}"')
        names.append(name)
    for name in build.split(".") if build_mark else ():
        if not name:
            raise EvaluationError("Build meta data is empty")
        if not _ALLOWED.issuperset(name):
            raise EvaluationError(f'Invalid character(s) found in build meta data "{name}"')
    return Semver(major, minor, patch, tuple(names))


def _semver(text: str, normalize: bool = False) -> Semver:
    return parse_semver(_normalized(text) if normalize else text)


def _normalized(text: str) -> str:
    parts = text.removeprefix("v").split(".", 2)
    for index, part in enumerate(parts):
        if len(part) > 1:
            part = part.lstrip("0")
            parts[index] = part if part and part[0] in _DIGITS else "0" + part
    if len(parts) < 3:
        if set(parts[-1]) & {"+", "-"}:
            raise EvaluationError("short version cannot contain PreRelease/Build meta data")
        parts += ["0"] * (3 - len(parts))
    return ".".join(parts)


def _is_semver(text: str, normalize: bool = False) -> bool:
    try:
        _semver(text, normalize)
    except EvaluationError:
        return False
    return True


FUNCTIONS: Mapping[str, Sequence[Row]] = {
    "semver": [
        ("string_to_semver", "(string): Semver", _semver),
        ("string_bool_to_semver", "(string, bool): Semver", _semver),
    ],
    "isSemver": [
        ("is_semver_string", "(string): bool", _is_semver),
        ("is_semver_string_bool", "(string, bool): bool", _is_semver),
    ],
    "isGreaterThan": [("semver_is_greater_than", "Semver.(Semver): bool", lambda a, b: compare(a, b) > 0)],
    "isLessThan": [("semver_is_less_than", "Semver.(Semver): bool", lambda a, b: compare(a, b) < 0)],
    "compareTo": [("semver_compare_to", "Semver.(Semver): int", compare)],
    "major": [("semver_major", "Semver.(): int", lambda version: version.major)],
    "minor": [("semver_minor", "Semver.(): int", lambda version: version.minor)],
    "patch": [("semver_patch", "Semver.(): int", lambda version: version.patch)],
}
