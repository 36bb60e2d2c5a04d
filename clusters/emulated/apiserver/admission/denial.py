"""How admission says no: 403 Forbidden, naming the object as the request named it."""

from __future__ import annotations

from collections.abc import Iterable

from clusters.emulated.apiserver.admission.attributes import Attributes
from clusters.kube import errors
from clusters.kube.errors import StatusError


def requested_name(attributes: Attributes) -> str:
    """The URL's name, else the object's name or generateName (names are generated after admission)."""
    if attributes.name:
        return attributes.name
    if attributes.object is None:
        return "Unknown"
    metadata = attributes.object.get("metadata")
    if metadata is None:
        return "Unknown"
    name: str = metadata.get("name") or metadata.get("generateName") or "Unknown"
    return name


def forbidden(attributes: Attributes, why: str) -> StatusError:
    return errors.forbidden(attributes.group_resource, requested_name(attributes), why)


def joined(texts: Iterable[str]) -> str:
    """Several errors as one text: one alone stands as it is, several in brackets, equal texts once."""
    once = list(dict.fromkeys(texts))
    return once[0] if len(once) == 1 else "[" + ", ".join(once) + "]"
