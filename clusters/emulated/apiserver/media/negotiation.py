"""Which form of answer a client accepts: JSON or YAML, the object itself, a Table or only its metadata."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from clusters.kube.errors import StatusError

_JSON, _YAML, _PROTOBUF = "application/json", "application/yaml", "application/vnd.kubernetes.protobuf"
_PRODUCED = (
    f"{_JSON}, {_YAML}, {_PROTOBUF}, {_JSON};stream=watch, {_PROTOBUF};stream=watch"
)
_TRANSFORMS = frozenset(("Table", "PartialObjectMetadata", "PartialObjectMetadataList"))
_TRANSFORM_VERSIONS = frozenset(("v1", "v1beta1"))


@dataclass(frozen=True, slots=True)
class MediaType:
    """`as_kind` is empty for the object itself; `pretty` only when the client asked for it by parameter."""

    yaml: bool = False
    pretty: bool | None = None
    as_kind: str = ""
    as_version: str = ""


PLAIN = MediaType()


class NotAcceptable(StatusError):
    """406. It is written indented, because the client has not said which form it would take."""


@lru_cache(maxsize=512)
def negotiate(accept: str, *, transforms: bool = True) -> MediaType:
    """The best form for an Accept header; raises NotAcceptable.

    Protobuf is a form of the real server that this one does not write: a client that lists JSON after it
    gets JSON.
    """
    if not accept or accept == _JSON or accept == "*/*":
        return PLAIN
    clauses = _clauses(accept)
    if not any(_known(media) for media, _ in clauses):
        raise NotAcceptable(
            406, "NotAcceptable", f"406: Not Acceptable\n\nAvailable representations: {_PRODUCED}", {}
        )
    for media, parameters in clauses:
        yaml = media == _YAML
        if not yaml and media not in (_JSON, "*/*", "application/*"):
            continue
        as_kind = parameters.get("as", "")
        if as_kind:
            if not transforms or as_kind not in _TRANSFORMS or parameters.get("g") != "meta.k8s.io":
                continue
            if parameters.get("v") not in _TRANSFORM_VERSIONS:
                continue
        pretty = parameters.get("pretty")
        return MediaType(yaml, None if pretty is None else pretty == "1", as_kind, parameters.get("v", ""))
    raise NotAcceptable(
        406,
        "NotAcceptable",
        f"only the following media types are accepted: {_JSON}, {_YAML}, {_PROTOBUF}",
    )


def _known(media: str) -> bool:
    return media in (_JSON, _YAML, _PROTOBUF, "*/*", "application/*")


def _clauses(accept: str) -> list[tuple[str, dict[str, str]]]:
    """The clauses of an Accept header, most wanted first; equally wanted ones keep their order."""
    clauses: list[tuple[float, str, dict[str, str]]] = []
    for clause in accept.split(","):
        media, *parameters = (part.strip() for part in clause.split(";"))
        if not media:
            continue
        values: dict[str, str] = {}
        weight = 1.0
        for parameter in parameters:
            name, _, value = parameter.partition("=")
            if name == "q":
                weight = _weight(value)
            else:
                values[name] = value.strip('"')
        clauses.append((weight, "*/*" if media == "*" else media.lower(), values))
    clauses.sort(key=lambda clause: -clause[0])
    return [(media, values) for _, media, values in clauses]


def _weight(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return 1.0
