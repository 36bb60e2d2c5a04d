"""Image references as Kubernetes and containerd read them: defaults, tags, digests, and what is wrong with a bad one."""  # noqa: E501

from __future__ import annotations

import re
from dataclasses import dataclass

_DOMAIN = r"(?:[a-zA-Z0-9]|[a-zA-Z0-9][a-zA-Z0-9-]*[a-zA-Z0-9])"
_HOST = rf"(?:{_DOMAIN}(?:\.{_DOMAIN})*|\[(?:[a-fA-F0-9:]+)\])(?::[0-9]+)?"
_COMPONENT = r"[a-z0-9]+(?:(?:[._]|__|[-]+)[a-z0-9]+)*"
_PATH = rf"{_COMPONENT}(?:/{_COMPONENT})*"
_TAG = r"[\w][\w.-]{0,127}"
_DIGEST = r"[A-Za-z][A-Za-z0-9]*(?:[-_+.][A-Za-z][A-Za-z0-9]*)*:[0-9a-fA-F]{32,}"
_REFERENCE = re.compile(rf"({_HOST}/)?({_PATH})(?::({_TAG}))?(?:@({_DIGEST}))?\Z")
_HEX64 = re.compile(r"[a-f0-9]{64}\Z")


class InvalidImageNameError(ValueError):
    """The text is what distribution's reference parser says."""


@dataclass(frozen=True, slots=True)
class ImageName:
    host: str
    path: str
    tag: str
    digest: str

    @property
    def repository(self) -> str:
        return f"{self.host}/{self.path}"

    @property
    def reference(self) -> str:
        """What containerd calls it: `docker.io/library/busybox:1.35`."""
        if self.digest:
            return f"{self.repository}@{self.digest}"
        return f"{self.repository}:{self.tag}"


def parse(image: str) -> ImageName:
    """The full name of what a Pod calls `image`; the tag defaults to `latest`."""
    if _HEX64.match(image):
        raise InvalidImageNameError(f"invalid repository name ({image}), cannot specify 64-byte hexadecimal strings")
    host, rest = _split_host(image)
    _check_case(rest)
    match = _REFERENCE.match(f"{host}/{rest}")
    if not image or match is None:
        raise InvalidImageNameError("invalid reference format")
    path, tag, digest = match.group(2), match.group(3) or "", match.group(4) or ""
    return ImageName(host, path, tag or ("" if digest else "latest"), digest)


def _split_host(image: str) -> tuple[str, str]:
    first, slash, rest = image.partition("/")
    if not slash or ("." not in first and ":" not in first and first != "localhost" and first.lower() == first):
        host, rest = "docker.io", image
    else:
        host = "docker.io" if first == "index.docker.io" else first
    if host == "docker.io" and "/" not in rest:
        rest = f"library/{rest}"
    return host, rest


def _check_case(rest: str) -> None:
    end = len(rest)
    for separator in (":", "@"):
        at = rest.find(separator)
        if at >= 0:
            end = min(end, at)
    name = rest[:end]
    if name.lower() != name:
        raise InvalidImageNameError(f"invalid reference format: repository name ({name}) must be lowercase")
