"""What stands behind the fixtures `inject`, `expect` and `workload`."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from types import TracebackType
from typing import Any

import faults
from clusters.base import Cluster, Lever
from faults.contract import Fault
from faults.symptoms import Symptom
from harness.injecting import HEALS_WITHIN_S, injected, missing_levers
from harness.kubectl import find_kubectl
from harness.symptoms import Observer, Verdict, look_until, too_much, unseen


class LeftActiveError(AssertionError):
    """A test ended with a fault in force. It is healed now; enter `inject` by `with`."""


def chosen(fault: Fault | str, **parameters: Any) -> Fault:
    if isinstance(fault, Fault):
        assert not parameters, "a fault that is made already has its parameters"
        return fault
    return faults.fault(fault, **parameters)


def placed(fault: Fault | str, observer: Observer) -> Fault:
    """The fault whose workload is in the cluster now."""
    found = chosen(fault)
    observer.set_up(found.workload())
    return found


class Inject:
    """Keeps account of the faults in force."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._active: dict[str, ExitStack] = {}

    def __call__(self, fault: Fault | str, **parameters: Any) -> AbstractContextManager[Lever]:
        return self._in_force(chosen(fault, **parameters))

    @contextmanager
    def _in_force(self, fault: Fault) -> Iterator[Lever]:
        import pytest

        missing = missing_levers(self._cluster, fault.needs, find_kubectl() is not None)
        if missing:
            pytest.skip(f"{fault.id} needs {', '.join(missing)}, which this cluster ({self._cluster.backend}) has not")
        with ExitStack() as heals:
            lever = heals.enter_context(injected(fault, self._cluster))
            self._active[fault.id] = heals
            try:
                yield lever
            finally:
                del self._active[fault.id]

    def __enter__(self) -> Inject:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        left = [*self._active]
        for heals in reversed([*self._active.values()]):
            heals.close()
        self._active.clear()
        if left and kind is None:
            raise LeftActiveError(f"the test ended with {', '.join(left)} in force: enter inject by `with`")


class Expect:
    """Asserts about symptoms."""

    def __init__(self, observer: Observer) -> None:
        self._observer = observer

    def __call__(self, symptom: Symptom | Fault, within_s: float = 0.0) -> Verdict:
        """It is seen, at the latest after so much cluster time; the evidence."""
        sign = symptom.symptom() if isinstance(symptom, Fault) else symptom
        verdict = look_until(True, sign, self._observer, within_s)
        if not verdict.seen:
            raise unseen(verdict, self._observer, f"not seen within {within_s:g} s:")
        return verdict

    def gone(self, symptom: Symptom | Fault, within_s: float = HEALS_WITHIN_S) -> None:
        """It is not seen any more."""
        sign = symptom.symptom() if isinstance(symptom, Fault) else symptom
        verdict = look_until(False, sign, self._observer, within_s)
        if verdict.seen:
            raise too_much(verdict, self._observer, f"still seen after {within_s:g} s:")

    def healthy(self, fault: Fault, within_s: float = HEALS_WITHIN_S) -> Verdict:
        """The fault's workload is as it should be."""
        return self(fault.recovery(), within_s)
