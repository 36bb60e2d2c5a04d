"""The scale of a custom resource: its definition says where the replicas are."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from clusters.emulated.apiserver.customresources.rules import nested
from clusters.kube import errors
from clusters.kube.apply.fieldset import Path
from clusters.kube.gostring import quote

Object = dict[str, Any]
# Versions without a scale: their entries are known, but own no replicas. No field can have this name.
_NOWHERE: Path = ("f:",)


class CustomScale:
    """How one version of a custom resource is scaled."""

    def __init__(self, spec: Object, scale: Mapping[str, Any]) -> None:
        self._spec_path: str = scale["specReplicasPath"]
        self._status_path: str = scale["statusReplicasPath"]
        self._selector_path: str = scale.get("labelSelectorPath") or ""
        self.paths: Mapping[str, Path] = {
            f"{spec['group']}/{version['name']}": _path((version.get("subresources") or {}).get("scale"))
            for version in spec["versions"]
        }

    def check_readable(self, obj: Object) -> None:
        if self._read(obj, self._spec_path, int, "int64") is None:
            raise errors.internal(f"the spec replicas field {quote(self._spec_path)} does not exist")

    def replicas(self, obj: Object) -> int:
        return self._read(obj, self._spec_path, int, "int64") or 0

    def observed(self, obj: Object) -> tuple[int, str]:
        selector = self._read(obj, self._selector_path, str, "string") if self._selector_path else ""
        return self._read(obj, self._status_path, int, "int64") or 0, selector or ""

    def set_replicas(self, obj: Object, replicas: int) -> None:
        steps = self._spec_path.removeprefix(".").split(".")
        for step in steps[:-1]:
            obj = obj.setdefault(step, {})
        obj[steps[-1]] = replicas

    @staticmethod
    def _read(obj: Object, path: str, wanted: type, go_name: str) -> Any:
        value, problem = nested(obj, path, wanted, go_name)
        if problem:
            raise errors.unknown(problem)
        return value


def _path(scale: Mapping[str, Any] | None) -> Path:
    if scale is None:
        return _NOWHERE
    return tuple(f"f:{step}" for step in scale["specReplicasPath"].removeprefix(".").split("."))
