"""How Go prints values: `%q`, JSON with HTML escaping, `%v` of lists. Kubernetes' messages contain them."""

from __future__ import annotations

import json

_ESCAPES = {
    '"': '\\"', "\\": "\\\\", "\a": "\\a", "\b": "\\b", "\f": "\\f",
    "\n": "\\n", "\r": "\\r", "\t": "\\t", "\v": "\\v",
}  # fmt: skip


def quote(text: str) -> str:
    """`%q` of a string: `a"b` becomes `"a\\"b"`, control characters become escapes."""
    if text.isascii() and text.isprintable() and '"' not in text and "\\" not in text:
        return f'"{text}"'
    return '"' + "".join(_quoted(character) for character in text) + '"'


def _quoted(character: str) -> str:
    if character in _ESCAPES:
        return _ESCAPES[character]
    code = ord(character)
    if character == " " or (character.isprintable() and code != 0xAD):
        return character
    if 0xDC80 <= code <= 0xDCFF:  # surrogateescape: a byte that was not UTF-8
        return f"\\x{code - 0xDC00:02x}"
    if code < 0x20 or code == 0x7F:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def to_json(value: object) -> str:
    """json.Marshal: compact, map keys sorted, `<`, `>` and `&` escaped."""
    text = json.dumps(value, separators=(",", ":"), sort_keys=True, ensure_ascii=False, default=str)
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def quoted_list(items: list[str]) -> str:
    """`%q` of a slice: `["a" "b"]`."""
    return "[" + " ".join(quote(item) for item in items) + "]"


def plain_list(items: list[str]) -> str:
    """`%v` of a slice: `[a b]`."""
    return "[" + " ".join(items) + "]"


class Verbatim(str):
    """A value that is already printed as Go prints it: field errors show it without quotes."""

    __slots__ = ()


def html_escaped(encoded: bytes) -> bytes:
    """JSON as Go's encoder writes it: `<`, `>` and `&` can only stand inside strings, where they are escaped."""
    for character, escape in ((b"<", b"\\u003c"), (b">", b"\\u003e"), (b"&", b"\\u0026")):
        if character in encoded:
            encoded = encoded.replace(character, escape)
    return encoded
