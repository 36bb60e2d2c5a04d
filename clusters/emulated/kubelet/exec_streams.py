"""`kubectl exec` and `attach` on a running container, over WebSocket channels."""

from __future__ import annotations

import asyncio
import json
from typing import Any

from clusters.emulated.apiserver.http import HttpResponse, RawConnection
from clusters.emulated.apiserver.request import Request
from clusters.emulated.apiserver.subresources.kubelets import StreamOptions
from clusters.emulated.kubelet.cri import RUNNING, Container, CriError
from clusters.emulated.kubelet.programs.shell import SHELLS, Executed
from clusters.emulated.kubelet.runtime import Runtime
from clusters.emulated.kubelet.websocket import (
    ERROR,
    STDERR,
    STDOUT,
    Channels,
    chosen_protocol,
    handshake,
    is_websocket,
)

Object = dict[str, Any]

_SUCCESS: Object = {"metadata": {}, "status": "Success"}


def refusal(status: int, text: str) -> HttpResponse:
    return HttpResponse(status, [("Content-Type", "text/plain; charset=utf-8")], (text + "\n").encode())


def exec_response(runtime: Runtime, container: Container, options: StreamOptions, request: Request) -> HttpResponse:
    headers = request.http.headers
    if not is_websocket(headers):
        return refusal(400, "unable to upgrade: SPDY is not spoken here; use a client that speaks WebSocket")
    protocol = chosen_protocol(headers)

    async def upgraded(connection: RawConnection) -> None:
        channels = Channels(connection, protocol)
        pump = asyncio.get_running_loop().create_task(channels.pump(), name="exec stdin")
        try:
            status = await _Session(runtime, container, options, channels).run()
            channels.send(ERROR, json.dumps(status, separators=(",", ":")).encode())
            await channels.close()
        finally:
            pump.cancel()

    return HttpResponse(101, handshake(headers, protocol), upgrade=upgraded)


class _Session:
    def __init__(self, runtime: Runtime, container: Container, options: StreamOptions, channels: Channels) -> None:
        self._runtime = runtime
        self._container = container
        self._options = options
        self._channels = channels

    async def run(self) -> Object:
        """What the client is told at the end."""
        if not self._options.command:
            return await self._attach()
        command = [*self._options.command]
        try:
            if self._options.stdin and len(command) == 1 and command[0] in SHELLS:
                return await self._interactive(command)
            stdin = await self._all_input() if self._options.stdin else ""
            return self._finished(await self._runtime.exec(self._container.id, command, stdin=stdin))
        except CriError as error:
            return _failed(error.message)

    async def _all_input(self) -> str:
        parts: list[bytes] = []
        while (data := await self._channels.stdin()) is not None:
            parts.append(data)
        return b"".join(parts).decode(errors="replace")

    def _finished(self, done: Executed) -> Object:
        if done.stdout and self._options.stdout:
            self._channels.send(STDOUT, self._text(done.stdout))
        if done.stderr and (self._options.stderr or self._options.tty):
            self._channels.send(STDOUT if self._options.tty else STDERR, self._text(done.stderr))
        return _SUCCESS if done.code == 0 else _exit_status(done.code)

    def _text(self, text: str) -> bytes:
        return (text.replace("\n", "\r\n") if self._options.tty else text).encode()

    async def _interactive(self, command: list[str]) -> Object:
        """A shell that is typed to: one line at a time."""
        typed = ""
        self._prompt()
        code = 0
        while (data := await self._channels.stdin()) is not None:
            text = data.decode(errors="replace")
            if self._options.tty:
                self._channels.send(STDOUT, text.replace("\r", "\r\n").encode())
            if "\x04" in text:
                break
            typed += text.replace("\r", "\n")
            *lines, typed = typed.split("\n")
            for line in lines:
                if line.split()[:1] == ["exit"]:
                    words = line.split()
                    return _SUCCESS if words[1:] in ([], ["0"]) else _exit_status(int(words[1]))
                if line.strip():
                    done = await self._runtime.exec(self._container.id, [*command, "-c", line])
                    self._finished(done)
                    code = done.code
                self._prompt()
        return _SUCCESS if code == 0 else _exit_status(code)

    def _prompt(self) -> None:
        if self._options.tty:
            self._channels.send(STDOUT, b"/ # ")

    async def _attach(self) -> Object:
        """What the container writes from now on."""
        more = asyncio.Event()
        followers = self._runtime.followers.setdefault(self._container.id, [])
        followers.append(more.set)
        log = self._container.box.log
        seen = len(log)
        try:
            while True:
                for line in log[seen:]:
                    channel = STDERR if line.stream == "stderr" and not self._options.tty else STDOUT
                    self._channels.send(channel, self._text(line.text))
                seen = len(log)
                if self._container.state != RUNNING:
                    return _SUCCESS
                more.clear()
                await more.wait()
        finally:
            followers.remove(more.set)


def _exit_status(code: int) -> Object:
    return {
        "metadata": {},
        "status": "Failure",
        "message": f"command terminated with non-zero exit code: exit code {code}",
        "reason": "NonZeroExitCode",
        "details": {"causes": [{"reason": "ExitCode", "message": str(code)}]},
    }


def _failed(message: str) -> Object:
    text = f"Internal error occurred: Internal error occurred: error executing command in container: {message}"
    return {"metadata": {}, "status": "Failure", "message": text, "reason": "InternalError", "code": 500}
