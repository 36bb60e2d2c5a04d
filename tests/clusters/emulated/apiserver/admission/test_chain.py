"""The chain calls each plugin for what it looks at, in order, and again when a webhook changed something."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from clusters.emulated.apiserver.admission.attributes import AdmissionPlugin, Attributes
from clusters.emulated.apiserver.admission.chain import AdmissionChain


class Noting(AdmissionPlugin):
    def __init__(self, name: str, notes: list[str], resources: frozenset[str] | None = None) -> None:
        self.name, self._notes, self.resources = name, notes, resources
        self.changes = 0

    async def admit(self, attributes: Attributes) -> None:
        self._notes.append(f"admit {self.name}")
        if self.changes:
            self.changes -= 1
            assert attributes.reinvocation is not None
            attributes.reinvocation.should_reinvoke = True

    async def validate(self, attributes: Attributes) -> None:
        self._notes.append(f"validate {self.name}")


def test_plugins_run_in_order_and_only_for_their_resources(house: Any, pod: Callable[..., Any]) -> None:
    notes: list[str] = []
    chain = AdmissionChain(
        [
            Noting("a", notes),
            Noting("b", notes, frozenset({"nodes"})),
            Noting("c", notes, frozenset({"pods"})),
        ]
    )
    attributes = house.attributes(pod())

    house.run(chain.admit(attributes))
    house.run(chain.validate(attributes))

    assert notes == ["admit a", "admit c", "validate a", "validate c"]


def test_operations_that_a_plugin_does_not_name_pass_it_by(house: Any, pod: Callable[..., Any]) -> None:
    notes: list[str] = []
    plugin = Noting("a", notes)
    plugin.operations = frozenset({"UPDATE"})

    house.run(AdmissionChain([plugin]).admit(house.attributes(pod())))

    assert notes == []


def test_a_change_by_a_webhook_makes_the_whole_mutating_pass_run_once_more(house: Any, pod: Callable[..., Any]) -> None:
    notes: list[str] = []
    webhook = Noting("webhook", notes)
    webhook.changes = 2  # Even if the second pass changes something again there is no third.

    house.run(AdmissionChain([Noting("built-in", notes), webhook]).admit(house.attributes(pod())))

    assert notes == ["admit built-in", "admit webhook"] * 2
