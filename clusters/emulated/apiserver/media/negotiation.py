"""Which form of answer a client accepts: JSON, YAML or protobuf; the object itself, a Table or only its metadata."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from clusters.kube.errors import StatusError

_JSON, _YAML, _PROTOBUF = "application/json", "application/yaml", "application/vnd.kubernetes.protobuf"
_PRODUCED = f"{_JSON}, {_YAML}, {_PROTOBUF}"
_PRODUCED_STREAMS = f"{_JSON};stream=watch, {_PROTOBUF};stream=watch"
_TRANSFORMS = frozenset(("Table", "PartialObjectMetadata", "PartialObjectMetadataList"))
_TRANSFORM_VERSIONS = frozenset(("v1", "v1beta1"))


@dataclass(frozen=True, slots=True)
class MediaType:
    """`as_kind` is empty for the object itself; `pretty` only when the client asked for it by parameter."""

    yaml: bool = False
    pretty: bool | None = None
    as_kind: str = ""
    as_version: str = ""
    protobuf: bool = False

    def untransformed(self) -> MediaType:
        """For what is never shown as anything else, e.g. a Status."""
        return MediaType(self.yaml, self.pretty, protobuf=self.protobuf) if self.as_kind else self


PLAIN = MediaType()


class NotAcceptable(StatusError):
    """406: the client takes none of the forms there are."""


class NotProduced(NotAcceptable):
    """406 before anything is looked at: no clause of the Accept header names a type that the URL has."""

    def __init__(self, produced: str = _PRODUCED, *, streams: bool = False) -> None:
        if streams:
            produced = f"{produced}, {_PRODUCED_STREAMS}"
        super().__init__(406, "NotAcceptable", f"406: Not Acceptable\n\nAvailable representations: {produced}", {})


def no_such_stream() -> NotAcceptable:
    """406 to a watch in a form that has no streams: YAML."""
    return NotAcceptable(406, "NotAcceptable", f"only the following media types are accepted: {_PRODUCED_STREAMS}")


def produced(accept: str, media: str) -> None:
    """For a URL that has one form only: raises NotProduced unless the client takes it."""
    if accept and not any(each in (media, "*/*") for each, _ in _clauses(accept)):
        raise NotProduced(media)


@lru_cache(maxsize=512)
def negotiate(accept: str, *, transforms: bool = True) -> MediaType:
    """The best form of a built-in kind for an Accept header; raises NotAcceptable."""
    if not accept or accept == _JSON or accept == "*/*":
        return PLAIN
    return _best(accept, transforms=transforms, custom=False)


def negotiate_discovery(accept: str, *, routed: bool) -> MediaType:
    """As `negotiate`; where the URL is a route of its own, a type that it does not have is refused there already."""
    if routed and accept and not any(_known(media) for media, _ in _clauses(accept)):
        raise NotProduced
    return negotiate(accept, transforms=False)


@lru_cache(maxsize=512)
def negotiate_custom(accept: str) -> MediaType:
    """As `negotiate`, of a custom resource: it has no protobuf, only its metadata has."""
    if not accept or accept == _JSON or accept == "*/*":
        return PLAIN
    return _best(accept, transforms=True, custom=True)


@lru_cache(maxsize=512)
def negotiate_error(accept: str) -> MediaType:
    """The form of an error. A client that takes none of the forms gets indented JSON, for a person to read."""
    try:
        return PLAIN if not accept else _best(accept, transforms=False, custom=False)
    except NotAcceptable:
        return MediaType(pretty=True)


def _best(accept: str, *, transforms: bool, custom: bool) -> MediaType:
    clauses = _clauses(accept)
    if transforms and not any(_known(media) for media, _ in clauses):
        raise NotProduced
    for media, parameters in clauses:
        yaml, protobuf = media == _YAML, media == _PROTOBUF
        if not yaml and not protobuf and media not in (_JSON, "*/*", "application/*"):
            continue
        as_kind = parameters.get("as", "")
        if as_kind:
            if not transforms or as_kind not in _TRANSFORMS or parameters.get("g") != "meta.k8s.io":
                continue
            if parameters.get("v") not in _TRANSFORM_VERSIONS:
                continue
            if protobuf and as_kind == "Table":  # Its cells are anything, which protobuf cannot say.
                continue
        elif protobuf and custom:
            continue
        pretty = parameters.get("pretty")
        version = parameters.get("v", "")
        return MediaType(yaml, None if pretty is None else pretty == "1", as_kind, version, protobuf)
    raise NotAcceptable(
        406,
        "NotAcceptable",
        f"only the following media types are accepted: {_PRODUCED}",
    )


def _known(media: str) -> bool:
    return media in (_JSON, _YAML, _PROTOBUF, "*/*")


def _clauses(accept: str) -> list[tuple[str, dict[str, str]]]:
    """The clauses of an Accept header, most wanted first; of equally wanted ones those that name a type."""
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
    clauses.sort(key=lambda clause: (-clause[0], clause[1][0] == "*", clause[1][-1] == "*"))
    return [(media, values) for _, media, values in clauses]


def _weight(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return 1.0
