"""`kubectl logs`: which container is meant, and its lines as they were asked for."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

from clusters.emulated.apiserver.http import StreamWriter
from clusters.emulated.apiserver.subresources.kubelets import LogOptions
from clusters.emulated.clock import Clock
from clusters.emulated.kubelet.cri import RUNNING, Container
from clusters.emulated.kubelet.programs.box import LogLine
from clusters.emulated.kubelet.runtime import Runtime
from clusters.kube import errors
from clusters.kube.timestamps import unix_s

Object = dict[str, Any]


def container_id_for_logs(pod: Object, status: Object, name: str, previous: bool) -> str:
    """Whose log is meant. Raises the kubelet's refusals, which reach the client as 400."""
    pod_name = pod["metadata"]["name"]
    found = next(
        (
            each
            for kind in ("containerStatuses", "initContainerStatuses", "ephemeralContainerStatuses")
            for each in status.get(kind) or ()
            if each["name"] == name
        ),
        None,
    )
    if found is None:
        raise errors.bad_request(f'container "{name}" in pod "{pod_name}" is not available')
    state, last = found["state"], (found.get("lastState") or {}).get("terminated") or {}
    if previous:
        if not last.get("containerID"):
            raise errors.bad_request(f'previous terminated container "{name}" in pod "{pod_name}" not found')
        return str(last["containerID"])
    if "running" in state:
        return str(found["containerID"])
    ended = state.get("terminated") or last
    if ended:
        if not ended.get("containerID"):
            raise errors.bad_request(f'container "{name}" in pod "{pod_name}" is terminated')
        return str(ended["containerID"])
    reason = (state.get("waiting") or {}).get("reason", "")
    reason = {"ErrImagePull": "image can't be pulled", "ImagePullBackOff": "trying and failing to pull image"}.get(
        reason, reason
    )
    raise errors.bad_request(f'container "{name}" in pod "{pod_name}" is waiting to start: {reason}')


def log_stream(
    runtime: Runtime, clock: Clock, container: Container, options: LogOptions
) -> Callable[[StreamWriter], Any]:
    """Writes the lines; with `follow`, goes on until the container ends or the client goes."""

    async def stream(writer: StreamWriter) -> None:
        lines = _chosen(container.box.log, options, clock.now_s())
        left = options.limit_bytes
        left = _write(writer, lines, options, left)
        if not options.follow or left == 0:
            return
        await _follow(runtime, container, writer, options, left)

    return stream


async def _follow(
    runtime: Runtime, container: Container, writer: StreamWriter, options: LogOptions, left: int | None
) -> None:
    more = asyncio.Event()
    followers = runtime.followers.setdefault(container.id, [])
    followers.append(more.set)
    writer.on_close(more.set)
    # Lines are only ever dropped from the front, so the last one seen tells where to go on.
    last = container.box.log[-1] if container.box.log else None
    try:
        while not writer.closed and left != 0:
            fresh = _after(container.box.log, last)
            if fresh:
                last = fresh[-1]
                left = _write(writer, fresh, options, left)
                await writer.drain()
            if container.state != RUNNING:
                return
            more.clear()
            await more.wait()
    finally:
        followers.remove(more.set)
        if not followers:
            runtime.followers.pop(container.id, None)


def _after(log: list[LogLine], last: LogLine | None) -> list[LogLine]:
    if last is None:
        return [*log]
    for index in range(len(log) - 1, -1, -1):
        if log[index] is last:
            return log[index + 1 :]
    return [*log]


def _chosen(log: list[LogLine], options: LogOptions, now_s: float) -> list[LogLine]:
    lines = [*log]
    since_s = None
    if options.since_s is not None:
        since_s = now_s - options.since_s
    elif options.since_time:
        since_s = unix_s(options.since_time)
    if since_s is not None:
        lines = [line for line in lines if line.at_s >= since_s]
    if options.tail_lines is not None:
        lines = lines[-options.tail_lines :] if options.tail_lines else []
    return lines


def _write(writer: StreamWriter, lines: list[LogLine], options: LogOptions, left: int | None) -> int | None:
    data = "".join((_stamp(line.at_s) + " " if options.timestamps else "") + line.text for line in lines).encode()
    if left is not None:
        data = data[:left]
        left -= len(data)
    if data:
        writer.write(data)
    return left


def _stamp(at_s: float) -> str:
    return datetime.fromtimestamp(at_s, UTC).strftime("%Y-%m-%dT%H:%M:%S.%f") + "000Z"
