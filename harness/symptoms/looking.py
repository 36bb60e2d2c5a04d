"""Looking for a symptom: one function per kind of sign, each of which looks once and says what it saw."""

from __future__ import annotations

import queue
import re
import threading
from collections.abc import Callable
from functools import singledispatch
from typing import Any

from clusters.base import Answer, ApiError
from faults import symptoms as signs
from harness.symptoms.evidence import Evidence, Verdict
from harness.symptoms.hops import hop_of_answer, hop_of_pod
from harness.symptoms.observer import Observer, at

#: How often a wait looks, in cluster time.
LOOK_EVERY_S = 1.0
#: An ERROR is the first word of a watch; a machine that is busy may take so long, in real time, to say it.
WATCH_PATIENCE_S = 0.25


def look(symptom: signs.Symptom, observer: Observer) -> Verdict:
    """Whether it is seen. Waits only where the symptom says so (`within`, `never`, a silent watch)."""
    return _look(symptom, observer)


def look_until(seen: bool, symptom: signs.Symptom, observer: Observer, within_s: float) -> Verdict:
    """Looks until the verdict is as asked for, or so much cluster time has passed; the last verdict."""
    cluster = observer.cluster
    deadline_s = cluster.elapsed_s() + within_s
    while True:
        verdict = look(symptom, observer)
        if verdict.seen == seen or cluster.elapsed_s() >= deadline_s:
            return verdict
        cluster.pass_time(min(LOOK_EVERY_S, max(0.0, deadline_s - cluster.elapsed_s())))


@singledispatch
def _look(symptom: signs.Symptom, observer: Observer) -> Verdict:
    raise NotImplementedError(f"nobody knows how to look for {type(symptom).__name__}")


@_look.register
def _(sign: signs.Response, observer: Observer) -> Verdict:
    expected = f"{sign.request}: {sign.code} {sign.reason or ''} {sign.message}".rstrip()
    if sign.took_s is not None:
        expected += f" after {sign.took_s[0]:g} to {sign.took_s[1]:g} s"
    asked = observer.ask(sign.request)
    seen = asked.answer is not None and _fits(sign, asked.answer)
    if sign.took_s is not None:
        seen = seen and sign.took_s[0] <= asked.took_s <= sign.took_s[1]
    return Verdict(seen, expected, (asked.evidence,))


def _fits(sign: signs.Response, answer: Answer) -> bool:
    body = answer.body if isinstance(answer.body, dict) else {}
    if answer.code != sign.code:
        return False
    if sign.reason is not None and body.get("reason", "") != sign.reason:
        return False
    text = body.get("message", answer.text) if answer.code >= 400 else answer.text
    headers = {name.lower(): value for name, value in answer.headers}
    return (
        _found(sign.message, text)
        and all(_found(pattern, headers.get(name.lower())) for name, pattern in sign.headers.items())
        and all(_found(pattern, at(answer.body, path)) for path, pattern in sign.body.items())
    )


def _found(pattern: str | None, value: Any) -> bool:
    if pattern is None:
        return value is None
    if pattern == "":
        return True
    return value is not None and re.search(pattern, str(value)) is not None


@_look.register
def _(sign: signs.NoResponse, observer: Observer) -> Verdict:
    asked = observer.ask(sign.request)
    seen = asked.answer is None and _found(sign.error, asked.error)
    return Verdict(seen, f"{sign.request}: no answer, {sign.error}", (asked.evidence,))


@_look.register
def _(sign: signs.WatchError, observer: Observer) -> Verdict:
    expected = f"watch {sign.request.path}: ERROR {sign.code} {sign.reason} {sign.message}".rstrip()
    observer.remember(sign.request.first)
    path = observer.path_of(sign.request)
    event = _first_event(observer, sign.request, path)
    now_s = observer.cluster.elapsed_s()
    if event is None or event.get("type") != "ERROR":
        return Verdict(False, expected, (Evidence(f"watch {path}: {_shown(event)}", now_s, 0, event),))
    status = event["object"]
    seen = (
        status.get("code") == sign.code
        and _found(f"^{sign.reason}$" if sign.reason else "", status.get("reason", ""))
        and _found(sign.message, status.get("message", ""))
    )
    what = f"watch {path}: ERROR {status.get('code')} {status.get('reason', '')}: {status.get('message', '')}"
    return Verdict(seen, expected, (Evidence(what, now_s, 8, event),))


def _shown(event: dict[str, Any] | None) -> str:
    return "no event" if event is None else f"{event.get('type')} {at(event, 'object.metadata.name')}"


def _first_event(observer: Observer, request: Any, path: str) -> dict[str, Any] | None:
    try:
        with observer.api(request).watch(path) as events:
            return _next(events, WATCH_PATIENCE_S)
    except ApiError as error:
        return {"type": "REFUSED", "object": {"code": error.code, "message": error.message}}


def _next(events: Any, patience_s: float) -> dict[str, Any] | None:
    """The next event, or None when none has come in so much real time."""
    came: queue.SimpleQueue[dict[str, Any] | None] = queue.SimpleQueue()
    threading.Thread(target=lambda: came.put(next(events, None)), daemon=True).start()
    try:
        return came.get(timeout=patience_s)
    except queue.Empty:
        return None


@_look.register
def _(sign: signs.WatchSilent, observer: Observer) -> Verdict:
    path = observer.path_of(sign.watch)
    expected = f"watch {path} says nothing of {sign.write} for {sign.for_s:g} s"
    seen: list[Evidence] = []
    with observer.api(sign.watch).watch(path) as events:
        written = observer.ask(sign.write)
        seen.append(written.evidence)
        observer.cluster.pass_time(sign.for_s)
        event = _next(events, WATCH_PATIENCE_S)
        seen.append(Evidence(f"watch {path}: {_shown(event)}", observer.cluster.elapsed_s(), 0, event))
        wrote = written.answer is not None and written.answer.code < 300
        return Verdict(wrote and event is None, expected, tuple(seen))


@_look.register
def _(sign: signs.PodWaiting, observer: Observer) -> Verdict:
    def waits(pod: dict[str, Any]) -> bool:
        status = pod.get("status") or {}
        each = [*(status.get("containerStatuses") or ()), *(status.get("initContainerStatuses") or ())]
        waiting = [(one.get("state") or {}).get("waiting") or {} for one in each]
        return any(one.get("reason") == sign.reason and _found(sign.message, one.get("message")) for one in waiting)

    return _pods(observer, sign.namespace, sign.selector, waits, f"waiting {sign.reason} {sign.message}".rstrip())


@_look.register
def _(sign: signs.PodPhase, observer: Observer) -> Verdict:
    def in_phase(pod: dict[str, Any]) -> bool:
        status = pod.get("status") or {}
        return status.get("phase") == sign.phase and (sign.reason is None or status.get("reason", "") == sign.reason)

    return _pods(observer, sign.namespace, sign.selector, in_phase, f"phase {sign.phase}")


def _pods(
    observer: Observer, namespace: str, selector: str, fits: Callable[[dict[str, Any]], bool], expected: str
) -> Verdict:
    found = observer.cluster.api.get(f"/api/v1/namespaces/{namespace}/pods?labelSelector={selector}")["items"]
    now_s = observer.cluster.elapsed_s()
    shown = tuple(
        Evidence(f"pod {pod['metadata']['name']}: {_state(pod)}", now_s, hop_of_pod(pod), pod) for pod in found
    )
    return Verdict(any(fits(pod) for pod in found), f"pods {selector} in {namespace}: {expected}", shown)


def _state(pod: dict[str, Any]) -> str:
    status = pod.get("status") or {}
    words = [status.get("phase", "?"), status.get("reason", "")]
    for each in status.get("containerStatuses") or ():
        for kind, state in (each.get("state") or {}).items():
            words.append(f"{each['name']} {kind} {state.get('reason', '')}".rstrip())
    return ", ".join(word for word in words if word)


@_look.register
def _(sign: signs.Condition, observer: Observer) -> Verdict:
    expected = f"{sign.path}: {sign.type}={sign.status} {sign.reason or ''} {sign.message}".rstrip()
    try:
        obj = observer.cluster.api.get(sign.path)
    except ApiError as error:
        now_s = observer.cluster.elapsed_s()
        return Verdict(False, expected, (Evidence(str(error), now_s, hop_of_answer(error.answer), error.answer),))
    conditions = (obj.get("status") or {}).get("conditions") or ()
    found = next((each for each in conditions if each["type"] == sign.type), {})  # type: ignore[var-annotated]
    seen = (
        found.get("status") == sign.status
        and (sign.reason is None or found.get("reason", "") == sign.reason)
        and _found(sign.message, found.get("message", ""))
    )
    what = f"{sign.path}: {sign.type}={found.get('status', '(none)')} {found.get('reason', '')}: {found.get('message', '')}"  # noqa: E501
    return Verdict(seen, expected, (Evidence(what, observer.cluster.elapsed_s(), 0, obj),))


@_look.register
def _(sign: signs.EventSeen, observer: Observer) -> Verdict:
    listed = observer.cluster.api.get(f"/api/v1/namespaces/{sign.namespace}/events?resourceVersion=0")["items"]
    found = []
    for each in listed:
        about = each.get("involvedObject") or {}
        if (
            each.get("reason") == sign.reason
            and _found(sign.message, each.get("message"))
            and sign.about in ("", f"{about.get('kind')}/{about.get('name')}")
        ):
            found.append(each)
    now_s = observer.cluster.elapsed_s()
    shown = tuple(Evidence(f"event {each['reason']}: {each.get('message')}", now_s, 0, each) for each in found)
    return Verdict(bool(found), f"event {sign.reason} {sign.message} {sign.about}".rstrip(), shown)


@_look.register
def _(sign: signs.Endpoint, observer: Observer) -> Verdict:
    path = f"/apis/discovery.k8s.io/v1/namespaces/{sign.namespace}/endpointslices"
    slices = observer.cluster.api.get(f"{path}?labelSelector=kubernetes.io/service-name={sign.service}")["items"]
    states = [
        bool((endpoint.get("conditions") or {}).get("ready", True))
        for each in slices
        for endpoint in each.get("endpoints") or ()
    ]
    seen = not states if sign.ready is None else sign.ready in states
    what = f"endpoints of {sign.service}: {states or 'none'}"
    expected = f"endpoints of {sign.service}: {'none' if sign.ready is None else f'ready={sign.ready}'}"
    return Verdict(seen, expected, (Evidence(what, observer.cluster.elapsed_s(), 0 if True in states else 12, slices),))


@_look.register
def _(sign: signs.Kubectl, observer: Observer) -> Verdict:
    expected = f"kubectl {' '.join(sign.args)} ends with {sign.exit}: {sign.stdout}{sign.stderr}"
    if observer.kubectl is None:
        # The answers that kubectl would have printed are looked at by the other signs.
        return Verdict(True, expected, (Evidence("no kubectl here: not looked at", observer.cluster.elapsed_s(), 0),))
    ran = observer.kubectl(*sign.args)
    seen = ran.exit_code == sign.exit and _found(sign.stdout, ran.stdout) and _found(sign.stderr, ran.stderr)
    what = f"kubectl {' '.join(sign.args)} ended with {ran.exit_code}: {(ran.stdout + ran.stderr).strip()[-300:]}"
    return Verdict(seen, expected, (Evidence(what, observer.cluster.elapsed_s(), 0, ran),))


@_look.register
def _(sign: signs.AllOf, observer: Observer) -> Verdict:
    parts = tuple(look(part, observer) for part in sign.parts)
    return Verdict(all(part.seen for part in parts), "all of:", parts=parts)


@_look.register
def _(sign: signs.AnyOf, observer: Observer) -> Verdict:
    parts = tuple(look(part, observer) for part in sign.parts)
    return Verdict(any(part.seen for part in parts), "any of:", parts=parts)


@_look.register
def _(sign: signs.Within, observer: Observer) -> Verdict:
    return look_until(True, sign.part, observer, sign.seconds)


@_look.register
def _(sign: signs.Never, observer: Observer) -> Verdict:
    verdict = look_until(True, sign.part, observer, sign.for_s)
    return Verdict(not verdict.seen, f"never in {sign.for_s:g} s: {verdict.expected}", verdict.evidence, ())
