"""Reading JSON as Go does: what it accepts, the words it refuses with, and the fields given twice.

>>> loads(b'{bad')
Traceback (most recent call last):
clusters.kube.gojson.JsonError: invalid character 'b' looking for beginning of object key string
"""

from __future__ import annotations

import json
import re
from typing import Any

import orjson

from clusters.kube.gostring import quote

_DEPTH_MAX = 10000  # Go's decoder gives up beyond this nesting.
_NUMBER = re.compile(rb"-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?")
_SURROGATE = re.compile("[\ud800-\udfff]")
_WHITESPACE = b" \t\r\n"


class JsonError(ValueError):
    """The text is no JSON; the message is Go's."""


def loads(data: bytes) -> Any:
    """Any JSON value. Lone surrogates and invalid UTF-8 become U+FFFD, as in Go."""
    try:
        return orjson.loads(data)
    except orjson.JSONDecodeError:
        pass  # Either no JSON at all, or something only orjson refuses.
    problem = _syntax_problem(data)
    if problem:
        raise JsonError(problem)
    try:
        return _without_surrogates(json.loads(data.decode("utf-8", "replace"), parse_constant=_no_constant))
    except RecursionError:
        raise JsonError("exceeded max depth") from None


def _no_constant(name: str) -> Any:
    raise JsonError(f"invalid character {name[0]!r} looking for beginning of value")


def _without_surrogates(value: Any) -> Any:
    if isinstance(value, str):
        return _SURROGATE.sub("\ufffd", value)
    if isinstance(value, list):
        return [_without_surrogates(item) for item in value]
    if isinstance(value, dict):
        return {_SURROGATE.sub("\ufffd", key): _without_surrogates(item) for key, item in value.items()}
    return value


# Quotes that are escaped end no key: managedFields are full of `"k:{\"uid\":…}"`.
_KEY_END = re.compile(rb'(?<!\\)"\s*:')


def duplicate_fields(data: bytes, parsed: Any) -> list[str]:
    """The paths of keys that stand twice in one object, in document order: `data.a`, `spec.ports[0].port`.

    `parsed` is what `loads` made of the same data. Nearly all documents have as many keys as their text has
    colons after quotes; only the others are read a second time.
    """
    if len(_KEY_END.findall(data)) == _count_keys(parsed) and b'\\\\"' not in data:
        return []
    paths: list[str] = []
    try:
        _collect(json.loads(data, object_pairs_hook=_Pairs), "", paths)
    except (ValueError, RecursionError):
        return []  # Not JSON for Python either; reading it has told the caller what is wrong.
    return list(dict.fromkeys(paths))


def _count_keys(value: Any) -> int:
    if value.__class__ is dict:
        count = len(value)
        for item in value.values():
            if item.__class__ is dict or item.__class__ is list:
                count += _count_keys(item)
        return count
    if value.__class__ is list:
        return sum(_count_keys(item) for item in value if item.__class__ is dict or item.__class__ is list)
    return 0


class _Pairs(list[tuple[str, Any]]):
    """An object whose keys may repeat."""


def _collect(value: Any, path: str, paths: list[str]) -> None:
    if isinstance(value, _Pairs):
        seen = set()
        for name, item in value:
            inner = f"{path}.{name}" if path else name
            if name in seen:
                paths.append(inner)
            seen.add(name)
            _collect(item, inner, paths)
    elif isinstance(value, list):
        for position, item in enumerate(value):
            _collect(item, f"{path}[{position}]", paths)


def _character(data: bytes, position: int) -> str:
    """The byte as Go prints it in these messages: `'b'`, `'\\x01'`, `'\\''`."""
    byte = data[position]
    if byte == 0x27:
        return "'\\''"
    if byte == 0x22:
        return "'\"'"
    return "'" + quote(chr(byte))[1:-1] + "'"


_END = "unexpected end of JSON input"


class _Scanner:
    """Walks the text once, without recursion, and stops at the first thing Go would stumble over."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.position = 0

    def skip_space(self) -> bool:
        """To the next character; False at the end."""
        data, position, size = self.data, self.position, len(self.data)
        while position < size and data[position] in _WHITESPACE:
            position += 1
        self.position = position
        return position < size

    def problem(self, where: str) -> str:
        return f"invalid character {_character(self.data, self.position)} {where}"

    def run(self) -> str:
        open_brackets: list[int] = []
        expects = "value"
        while True:
            if not self.skip_space():
                return "" if expects == "end" else _END
            byte = self.data[self.position]
            if expects == "end":
                return self.problem("after top-level value")
            if expects in ("value", "first element"):
                if expects == "first element" and byte == 0x5D:
                    expects = self.close(open_brackets)
                elif byte in b"{[":
                    open_brackets.append(byte)
                    if len(open_brackets) > _DEPTH_MAX:
                        return "exceeded max depth"
                    self.position += 1
                    expects = "first key" if byte == 0x7B else "first element"
                else:
                    trouble = self.scalar(byte)
                    if trouble:
                        return trouble
                    expects = "after" if open_brackets else "end"
            elif expects in ("key", "first key"):
                if expects == "first key" and byte == 0x7D:
                    expects = self.close(open_brackets)
                elif byte != 0x22:
                    return self.problem("looking for beginning of object key string")
                else:
                    trouble = self.string()
                    if trouble:
                        return trouble
                    if not self.skip_space():
                        return _END
                    if self.data[self.position] != 0x3A:
                        return self.problem("after object key")
                    self.position += 1
                    expects = "value"
            else:
                in_object = open_brackets[-1] == 0x7B
                if byte == 0x2C:
                    self.position += 1
                    expects = "key" if in_object else "value"
                elif byte == (0x7D if in_object else 0x5D):
                    expects = self.close(open_brackets)
                else:
                    return self.problem("after object key:value pair" if in_object else "after array element")

    def close(self, open_brackets: list[int]) -> str:
        open_brackets.pop()
        self.position += 1
        return "after" if open_brackets else "end"

    def scalar(self, byte: int) -> str:
        if byte == 0x22:
            return self.string()
        for word in (b"true", b"false", b"null"):
            if byte == word[0]:
                return self.literal(word)
        if byte == 0x2D or 0x30 <= byte <= 0x39:
            return self.number()
        return self.problem("looking for beginning of value")

    def literal(self, word: bytes) -> str:
        for offset in range(1, len(word)):
            self.position += 1
            if self.position >= len(self.data):
                return _END
            if self.data[self.position] != word[offset]:
                return self.problem(f"in literal {word.decode()} (expecting {chr(word[offset])!r})")
        self.position += 1
        return ""

    def string(self) -> str:
        data, size = self.data, len(self.data)
        self.position += 1
        while self.position < size:
            byte = data[self.position]
            if byte == 0x22:
                self.position += 1
                return ""
            if byte < 0x20:
                return self.problem("in string literal")
            self.position += 1
            if byte == 0x5C:
                if self.position >= size:
                    return _END
                if data[self.position] not in b'"\\/bfnrtu':
                    return self.problem("in string escape code")
                digits = 4 if data[self.position] == 0x75 else 0
                self.position += 1
                for _ in range(digits):
                    if self.position >= size:
                        return _END
                    if data[self.position] not in b"0123456789abcdefABCDEF":
                        return self.problem("in \\u hexadecimal character escape")
                    self.position += 1
        return _END

    def number(self) -> str:
        match = _NUMBER.match(self.data, self.position)
        if match is None:  # a lone minus
            self.position += 1
            return _END if self.position >= len(self.data) else self.problem("in numeric literal")
        self.position = match.end()
        if self.position < len(self.data):
            byte = self.data[self.position]
            if byte == 0x2E:
                self.position += 1
                if self.position >= len(self.data):
                    return _END
                return self.problem("after decimal point in numeric literal")
            if byte in b"eE":
                self.position += 1
                if self.position < len(self.data) and self.data[self.position] in b"+-":
                    self.position += 1
                if self.position >= len(self.data):
                    return _END
                return self.problem("in exponent of numeric literal")
        return ""


def _syntax_problem(data: bytes) -> str:
    return _Scanner(data).run()
