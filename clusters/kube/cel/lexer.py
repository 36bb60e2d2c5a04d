"""CEL text to tokens, with ANTLR's wording for characters that start no token."""

from __future__ import annotations

import re
from typing import NamedTuple

from clusters.kube.cel.errors import Issue

_ESCAPE = r"""\\(?:[abfnrtv"'\\?`]|[0-3][0-7][0-7]|[xX][0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8})"""
_STRING = (
    r"(?:"
    r'[rR]"""[\s\S]*?"""|[rR]\'\'\'[\s\S]*?\'\'\''
    r'|[rR]"[^"\n\r]*"|[rR]\'[^\'\n\r]*\''
    rf'|"""(?:{_ESCAPE}|[^\\])*?"""'
    rf"|'''(?:{_ESCAPE}|[^\\])*?'''"
    rf'|"(?:{_ESCAPE}|[^\\"\n\r])*"'
    rf"|'(?:{_ESCAPE}|[^\\'\n\r])*'"
    r")"
)
_TOKEN = re.compile(
    r"(?P<hidden>[\t \r\n\f]+|//[^\n]*)"
    rf"|(?P<BYTES>[bB]{_STRING})"
    rf"|(?P<STRING>{_STRING})"
    r"|(?P<IDENTIFIER>[A-Za-z_][A-Za-z0-9_]*)"
    r"|(?P<NUM_FLOAT>[0-9]+\.[0-9]+(?:[eE][+-]?[0-9]+)?|[0-9]+[eE][+-]?[0-9]+|\.[0-9]+(?:[eE][+-]?[0-9]+)?)"
    r"|(?P<NUM_UINT>0x[0-9a-fA-F]+[uU]|[0-9]+[uU])"
    r"|(?P<NUM_INT>0x[0-9a-fA-F]+|[0-9]+)"
    r"|(?P<ESC_IDENTIFIER>`[A-Za-z0-9_.\-/ ]+`)"
    r"|(?P<op>==|!=|<=|>=|&&|\|\||[<>\[\]{}().,\-!?:+*/%])"
)
_KEYWORDS = frozenset({"in", "true", "false", "null"})
EOF = "<EOF>"


class Token(NamedTuple):
    """``kind`` is the grammar's name of the token, or the text itself for operators and keywords."""

    kind: str
    text: str
    offset: int


def tokenize(source: str, issues: list[Issue]) -> list[Token]:
    """The visible tokens of ``source``, always ended by EOF; unknown characters go to ``issues``."""
    tokens: list[Token] = []
    at, end = 0, len(source)
    match_token = _TOKEN.match
    while at < end:
        match = match_token(source, at)
        if match is None:
            stop = _unrecognised(source, at)
            issues.append(Issue(at, f"Syntax error: token recognition error at: '{_shown(source[at:stop])}'"))
            at = stop
            continue
        kind = match.lastgroup
        text = match.group()
        if kind == "op" or (kind == "IDENTIFIER" and text in _KEYWORDS):
            tokens.append(Token(text, text, at))
        elif kind != "hidden":
            assert kind is not None
            tokens.append(Token(kind, text, at))
        at = match.end()
    tokens.append(Token(EOF, EOF, end))
    return tokens


_PREFIX = re.compile(
    rf"\"(?:{_ESCAPE}|[^\\\"\n\r])*(?:\\[xXuU0-3]?[0-9a-fA-F]*)?"
    rf"|'(?:{_ESCAPE}|[^\\'\n\r])*(?:\\[xXuU0-3]?[0-9a-fA-F]*)?"
    r"|[=&|]|`[A-Za-z0-9_.\-/ ]*"
)


def _unrecognised(source: str, at: int) -> int:
    """Where the lexer gives up and starts anew: after the longest text that could have begun a token."""
    prefix = _PREFIX.match(source, at)
    stop = prefix.end() if prefix and prefix.end() > at else at
    return min(stop + 1, len(source)) if stop < len(source) else stop


def _shown(text: str) -> str:
    return text.replace("\n", "\\n").replace("\r", "\\r").replace("\t", "\\t")


_SIMPLE = {
    "a": 7, "b": 8, "f": 12, "n": 10, "r": 13, "t": 9, "v": 11, "\\": 92, "'": 39, '"': 34, "`": 96, "?": 63,
}  # fmt: skip


class LiteralError(ValueError):
    """A string literal whose escapes mean nothing."""


def unquote(text: str, as_bytes: bool) -> str | bytes:
    """The value of a string token (without the ``b`` of a bytes literal)."""
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    raw = text[0] in "rR"
    if raw:
        text = text[1:]
    quotes = 3 if len(text) >= 6 and text[:3] in ("'''", '"""') else 1
    body = text[quotes:-quotes]
    if raw or "\\" not in body:
        return body.encode() if as_bytes else body
    out = bytearray()
    at = 0
    while at < len(body):
        char = body[at]
        if char != "\\":
            out += char.encode("utf-8", "surrogatepass")
            at += 1
            continue
        code = body[at + 1]
        at += 2
        if code in _SIMPLE:
            out.append(_SIMPLE[code])
            continue
        if code in "xXuU":
            if as_bytes and code in "uU":
                raise LiteralError("unable to unescape string")
            size = {"x": 2, "X": 2, "u": 4, "U": 8}[code]
            value = int(body[at : at + size], 16)
            at += size
        else:
            value = int(body[at - 1 : at + 2], 8)
            at += 2
        if as_bytes:
            out.append(value)
        elif value > 0x10FFFF or 0xD800 <= value <= 0xDFFF:
            raise LiteralError("invalid unicode code point")
        else:
            out += chr(value).encode()
    return bytes(out) if as_bytes else out.decode("utf-8", "surrogatepass")
