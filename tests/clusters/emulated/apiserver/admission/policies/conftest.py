from __future__ import annotations

from typing import Any

import pytest

_RULE = {
    "apiGroups": [""],
    "apiVersions": ["v1"],
    "operations": ["CREATE", "UPDATE"],
    "resources": ["configmaps"],
}


class Policies:
    """Stores a policy and one binding, as the api-server would after defaulting."""

    def __init__(self, house: Any) -> None:
        self._house = house
        self._generation = 0

    def _put(self, kind: str, name: str, spec: dict[str, Any], binding: dict[str, Any] | None) -> None:
        self._generation += 1
        group = "admissionregistration.k8s.io"
        constraints = {"resourceRules": [_RULE], "matchPolicy": "Equivalent"}
        full = {"failurePolicy": "Fail", "matchConstraints": constraints, **spec}
        metadata = {"name": name, "generation": self._generation}
        self._house.objects.put(f"{kind}admissionpolicies.{group}", {"metadata": metadata, "spec": full})
        bound = {"policyName": name, "validationActions": ["Deny"], **(binding or {})}
        self._house.objects.put(
            f"{kind}admissionpolicybindings.{group}", {"metadata": {"name": f"{name}-b"}, "spec": bound}
        )

    def validating(self, name: str = "pol", binding: dict[str, Any] | None = None, **spec: Any) -> None:
        self._put("validating", name, spec, binding)

    def mutating(self, name: str = "pol", binding: dict[str, Any] | None = None, **spec: Any) -> None:
        self._put("mutating", name, spec, binding)


@pytest.fixture
def policies(house: Any) -> Policies:
    return Policies(house)


@pytest.fixture
def config() -> Any:
    def make(name: str = "cm", **data: str) -> dict[str, Any]:
        metadata = {"name": name, "namespace": "default"}
        return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data}

    return make
