"""Property names as CEL identifiers: ``foo-bar`` is ``foo__dash__bar``, ``namespace`` is ``__namespace__``."""

from __future__ import annotations

import re

from clusters.kube.cel.parser import RESERVED

_SPECIAL = re.compile(r"__|[-./]")
_ALLOWED = re.compile(r"[A-Za-z_./\-][A-Za-z0-9_./\-]*\Z")
_ESCAPES = {"__": "__underscores__", ".": "__dot__", "-": "__dash__", "/": "__slash__"}
_ESCAPED = re.compile(r"_{2}[^_]+_{2}")
_UNESCAPES = {escaped: plain for plain, escaped in _ESCAPES.items()}


def escape(name: str) -> str | None:
    """The identifier for a property, or None when it has none (``$ref``, ``1st``)."""
    if name in RESERVED:
        return f"__{name}__"
    if not _ALLOWED.match(name):
        return None
    return _SPECIAL.sub(lambda match: _ESCAPES[match.group()], name)


def unescape(identifier: str) -> str | None:
    """The property behind an identifier, or None when its escapes mean nothing."""
    if identifier.startswith("__") and identifier.endswith("__") and identifier[2:-2] in RESERVED:
        return identifier[2:-2]
    valid = True

    def plain(match: re.Match[str]) -> str:
        nonlocal valid
        found = _UNESCAPES.get(match.group())
        valid = valid and found is not None
        return found or ""

    result = _ESCAPED.sub(plain, identifier)
    return result if valid else None
