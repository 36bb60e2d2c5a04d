"""The string functions of cel-go's extension (version 2): all count in code points."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from clusters.kube.cel.access import shown_key
from clusters.kube.cel.declarations import Row
from clusters.kube.cel.errors import EvaluationError
from clusters.kube.cel.library.formatting import format_string

_LOWER = {code: code + 32 for code in range(ord("A"), ord("Z") + 1)}
_UPPER = {code: code - 32 for code in range(ord("a"), ord("z") + 1)}
_QUOTED = str.maketrans(
    {
        "\a": "\\a",
        "\b": "\\b",
        "\f": "\\f",
        "\n": "\\n",
        "\r": "\\r",
        "\t": "\\t",
        "\v": "\\v",
        "\\": "\\\\",
        '"': '\\"',
    }
)
# unicode.IsSpace of Go, which str.strip() takes a little wider.
_SPACE = (
    "\t\n\v\f\r \x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"
    "\u2028\u2029\u202f\u205f\u3000"
)


def _out_of_range(index: int) -> EvaluationError:
    return EvaluationError(f"index out of range: {index}")


def _char_at(text: str, index: int) -> str:
    if not 0 <= index <= len(text):
        raise _out_of_range(index)
    return text[index : index + 1]


def _index_of(text: str, part: str, offset: int = 0) -> int:
    if not part:
        return offset
    if offset < 0:
        raise _out_of_range(offset)
    return text.find(part, offset)


def _last_index_of(text: str, part: str) -> int:
    return text.rfind(part)


def _last_index_of_offset(text: str, part: str, offset: int) -> int:
    if not part:
        return offset
    if offset < 0:
        raise _out_of_range(offset)
    if offset >= len(text):
        return -1
    return text.rfind(part, 0, offset + len(part))


def _replace(text: str, old: str, new: str, count: int = -1) -> str:
    return text.replace(old, new, max(count, -1))


def _split(text: str, separator: str, limit: int = -1) -> list[str]:
    if limit == 0:
        return []
    if separator:
        return text.split(separator, limit - 1 if limit > 0 else -1)
    if limit < 0 or limit >= len(text):
        return list(text)
    return [*text[: limit - 1], text[limit - 1 :]]


def _substring(text: str, start: int, end: int | None = None) -> str:
    if end is not None and start > end:
        raise EvaluationError(f"invalid substring range. start: {start}, end: {end}")
    for index in (start, end):
        if index is not None and not 0 <= index <= len(text):
            raise _out_of_range(index)
    return text[start:end]


def _join(values: list[Any], separator: str = "") -> str:
    for value in values:
        if type(value) is not str:
            raise EvaluationError(f"join: invalid input: {shown_key(value)}")
    return separator.join(values)


def _quote(text: str) -> str:
    return f'"{text.translate(_QUOTED)}"'


FUNCTIONS: Mapping[str, Sequence[Row]] = {
    "charAt": [("string_char_at_int", "string.(int): string", _char_at)],
    "indexOf": [
        ("string_index_of_string", "string.(string): int", _index_of),
        ("string_index_of_string_int", "string.(string, int): int", _index_of),
    ],
    "lastIndexOf": [
        ("string_last_index_of_string", "string.(string): int", _last_index_of),
        ("string_last_index_of_string_int", "string.(string, int): int", _last_index_of_offset),
    ],
    "lowerAscii": [("string_lower_ascii", "string.(): string", lambda text: text.translate(_LOWER))],
    "upperAscii": [("string_upper_ascii", "string.(): string", lambda text: text.translate(_UPPER))],
    "replace": [
        ("string_replace_string_string", "string.(string, string): string", _replace),
        ("string_replace_string_string_int", "string.(string, string, int): string", _replace),
    ],
    "split": [
        ("string_split_string", "string.(string): list<string>", _split),
        ("string_split_string_int", "string.(string, int): list<string>", _split),
    ],
    "substring": [
        ("string_substring_int", "string.(int): string", _substring),
        ("string_substring_int_int", "string.(int, int): string", _substring),
    ],
    "trim": [("string_trim", "string.(): string", lambda text: text.strip(_SPACE))],
    "format": [("string_format", "string.(list<dyn>): string", format_string)],
    "strings.quote": [("strings_quote", "(string): string", _quote)],
    "join": [
        ("list_join", "list<string>.(): string", _join),
        ("list_join_string", "list<string>.(string): string", _join),
    ],
}
