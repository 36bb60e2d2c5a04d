"""Lifecycle hooks: exec, httpGet, sleep; and what goes wrong with them, in the kubelet's words."""

from __future__ import annotations

from typing import Any

from clusters.emulated.clock import Clock
from clusters.emulated.kubelet.connections import ConnectError, Connections, UnknownPortError, http_target
from clusters.emulated.kubelet.cri import CriError
from clusters.emulated.kubelet.pod_names import describe
from clusters.emulated.kubelet.runtime import Runtime
from clusters.kube.gostring import quote

Object = dict[str, Any]


class HookError(Exception):
    """The hook failed; the text is the message of PostStartHookError."""


class Hooks:
    def __init__(self, runtime: Runtime, connections: Connections, clock: Clock) -> None:
        self._runtime = runtime
        self._connections = connections
        self._clock = clock

    async def run(self, pod: Object, container: Object, container_id: str, handler: Object) -> None:
        where = f"for Container {quote(container['name'])} in Pod {quote(describe(pod))} failed - error:"
        if "exec" in handler:
            await self._exec(handler["exec"].get("command") or [], container_id, where)
        elif "httpGet" in handler:
            await self._http(pod, container, handler["httpGet"], where)
        elif "sleep" in handler:
            await self._clock.sleep(handler["sleep"]["seconds"])
        else:
            raise HookError(f"Cannot run handler: invalid handler: {handler}")

    async def _exec(self, command: list[str], container_id: str, where: str) -> None:
        shown = f"Exec lifecycle hook ([{' '.join(command)}]) {where}"
        try:
            done = await self._runtime.exec(container_id, command)
        except CriError as error:
            raise HookError(f'{shown} {error}, message: ""') from error
        if done.code != 0:
            output = quote(done.stdout + done.stderr)
            raise HookError(
                f"{shown} command '{' '.join(command)}' exited with {done.code}: {done.stderr}, message: {output}"
            )

    async def _http(self, pod: Object, container: Object, action: Object, where: str) -> None:
        shown = f"HTTP lifecycle hook ({action.get('path', '')}) {where}"
        state = self._runtime.pod_state(pod["metadata"]["uid"])
        try:
            url, host, port, path = http_target(action, container, state.ips[0] if state.ips else "")
            await self._connections.http(url, host, port, path, 0)
        except (ConnectError, UnknownPortError) as error:
            raise HookError(f"{shown} {error}") from error
