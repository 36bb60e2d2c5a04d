"""How checks name what is wrong: quoted lists, singular and plural, who set it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

Spec = Mapping[str, Any]


class Violation(NamedTuple):
    """A reason in few words, and the details that show where in the pod."""

    reason: str
    detail: str

    def __str__(self) -> str:
        return f"{self.reason} ({self.detail})" if self.detail else self.reason


def quoted(items: Iterable[str]) -> str:
    return ", ".join(f'"{item}"' for item in items)


def plural(one: str, many: str, count: int) -> str:
    return one if count == 1 else many


def named(names: Sequence[str]) -> str:
    """`container "a"`, `containers "a", "b"`."""
    return f"{plural('container', 'containers', len(names))} {quoted(names)}"


def containers(spec: Spec) -> Iterator[tuple[str, Mapping[str, Any], Mapping[str, Any]]]:
    """Name, securityContext and the container itself, of all containers in the order of a start."""
    for field in ("initContainers", "containers", "ephemeralContainers"):
        for container in spec.get(field) or ():
            yield container.get("name", ""), container.get("securityContext") or {}, container


def pod_context(spec: Spec) -> Mapping[str, Any]:
    context: Mapping[str, Any] = spec.get("securityContext") or {}
    return context


def in_user_namespace(spec: Spec) -> bool:
    return spec.get("hostUsers") is False


def on_windows(spec: Spec) -> bool:
    return bool((spec.get("os") or {}).get("name") == "windows")
