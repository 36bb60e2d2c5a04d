"""Which tag an image reference names: it decides the default pull policy."""

from __future__ import annotations

import re
from functools import lru_cache

_COMPONENT = "(?:[a-zA-Z0-9]|[a-zA-Z0-9][a-zA-Z0-9-]*[a-zA-Z0-9])"
_HOST = rf"(?:{_COMPONENT}(?:\.{_COMPONENT})*|\[[a-fA-F0-9:]+\])(?::[0-9]+)?"
_PATH = "[a-z0-9]+(?:(?:[._]|__|[-]+)[a-z0-9]+)*"
_NAME = rf"(?:{_HOST}/)?{_PATH}(?:/{_PATH})*"
_DIGEST = r"[A-Za-z][A-Za-z0-9]*(?:[-_+.][A-Za-z][A-Za-z0-9]*)*:[0-9a-fA-F]{32,}"
_reference = re.compile(rf"({_NAME})(?::([\w][\w.-]{{0,127}}))?(?:@({_DIGEST}))?", re.ASCII).fullmatch
_identifier = re.compile("[a-f0-9]{64}").fullmatch
_DIGEST_LENGTHS = {"sha256": 64, "sha384": 96, "sha512": 128}
_NAME_MAX = 255


@lru_cache(maxsize=4096)
def image_tag(image: str) -> str:
    """The tag; `latest` where neither tag nor digest is given; empty for a digest or for what is no reference."""
    if _identifier(image):
        return ""
    domain, slash, rest = image.partition("/")
    plain = not any(mark in domain for mark in ".:") and domain != "localhost" and domain == domain.lower()
    if not slash or plain:
        domain, rest = "docker.io", image
    if domain in ("docker.io", "index.docker.io") and "/" not in rest:
        domain, rest = "docker.io", f"library/{rest}"
    path = rest.partition(":")[0]
    found = _reference(f"{domain}/{rest}")
    if path != path.lower() or found is None:
        return ""
    name, tag, digest = found.groups()
    if len(name) > _NAME_MAX:
        return ""
    if digest:
        algorithm, _, hexadecimal = digest.partition(":")
        if _DIGEST_LENGTHS.get(algorithm) != len(hexadecimal) or hexadecimal != hexadecimal.lower():
            return ""
    if tag:
        return str(tag)
    return "" if digest else "latest"


def default_pull_policy(image: str) -> str:
    return "Always" if image_tag(image) == "latest" else "IfNotPresent"
