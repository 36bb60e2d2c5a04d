"""What a failed assertion says: expected, seen instead, the hop at which it stopped, the last events and answers."""

from __future__ import annotations

from clusters.base import ApiError
from harness.symptoms.evidence import Verdict
from harness.symptoms.hops import NAMES
from harness.symptoms.observer import Observer

EVENTS_SHOWN = 5


class SymptomError(AssertionError):
    """A symptom was not seen where it had to be, or seen where it must not be."""


def unseen(verdict: Verdict, observer: Observer, what: str) -> SymptomError:
    lines = [what]
    for part in verdict.missing() or [verdict]:
        lines.append(f"  expected: {part.expected}")
        lines += [f"  seen:     {each}" for each in part.evidence] or ["  seen:     nothing"]
    stopped = [each.hop for each in verdict.all_evidence() if each.hop]
    if stopped:
        lines.append(f"  it stopped at hop {stopped[-1]} ({NAMES[stopped[-1]]})")
    return SymptomError("\n".join([*lines, *_surroundings(observer)]))


def too_much(verdict: Verdict, observer: Observer, what: str) -> SymptomError:
    lines = [what, f"  not to be seen: {verdict.expected}"]
    lines += [f"  seen:           {each}" for each in verdict.all_evidence()]
    return SymptomError("\n".join([*lines, *_surroundings(observer)]))


def _surroundings(observer: Observer) -> list[str]:
    lines = ["  last answers:", *(f"    {each}" for each in [*observer.last][-EVENTS_SHOWN:])]
    try:
        events = observer.cluster.api.get(f"{observer.events_path}?resourceVersion=0")["items"]
    except ApiError as error:
        return [*lines, f"  events cannot be read: {error}"]
    recent = sorted(events, key=lambda each: each.get("lastTimestamp") or "")[-EVENTS_SHOWN:]
    if recent:
        lines.append("  last events:")
        lines += [f"    {each.get('reason')}: {each.get('message')}" for each in recent]
    return lines
