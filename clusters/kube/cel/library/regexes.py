"""``find`` and ``findAll`` with RE2 patterns."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from clusters.kube.cel.declarations import Row
from clusters.kube.cel.errors import EvaluationError
from clusters.kube.cel.regex import compile_re2


def _compiled(pattern: str) -> re.Pattern[str]:
    try:
        return compile_re2(pattern)
    except EvaluationError as error:
        raise EvaluationError(f"Illegal regex: {error}") from error


def _find(text: str, pattern: str) -> str:
    match = _compiled(pattern).search(text)
    return match.group() if match else ""


def _find_all(text: str, pattern: str, limit: int = -1) -> list[str]:
    out: list[str] = []
    last_end = -1
    for match in _compiled(pattern).finditer(text):
        if 0 <= limit <= len(out):
            break
        # Go takes no empty match right after a match.
        if match.end() == match.start() == last_end:
            continue
        out.append(match.group())
        last_end = match.end()
    return out


FUNCTIONS: Mapping[str, Sequence[Row]] = {
    "find": [("string_find_string", "string.(string): string", _find)],
    "findAll": [
        ("string_find_all_string", "string.(string): list<string>", _find_all),
        ("string_find_all_string_int", "string.(string, int): list<string>", _find_all),
    ],
}
