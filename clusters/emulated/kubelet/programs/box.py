"""The inside of a container as its program sees it: files, environment, output, ports, memory and signals.

One box belongs to one start of a container. `ended` is called once, with the exit code and whether the kernel
killed it for its memory.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from typing import Any, Final

from clusters.emulated.clock import Clock

SIGKILL_EXIT: Final = 137
SIGTERM_EXIT: Final = 143
#: A container's log is kept whole up to here; older lines go, as when a real kubelet rotates it.
LOG_LINES_MAX: Final = 10_000


class ExitError(Exception):
    """A program ends itself with this code, from wherever it is."""

    def __init__(self, code: int) -> None:
        super().__init__(f"exit {code}")
        self.code = code


@dataclass(slots=True)
class LogLine:
    at_s: float
    stream: str
    text: str


@dataclass(slots=True)
class Listener:
    """A port that a program serves. `answer(path)` gives a status code and a body; without it, TCP only."""

    port: int
    since_s: float = 0.0
    answer: Callable[[str], tuple[int, str]] | None = None
    #: How long it takes to answer; longer than a probe waits, and the probe times out.
    delay_s: float = 0.0
    grpc: bool = False


@dataclass(slots=True, eq=False)
class Box:
    clock: Clock
    hostname: str
    command: list[str]
    ended: Callable[[int, bool], None]
    wrote: Callable[[], None]
    environment: dict[str, str] = field(default_factory=dict)
    #: path → content; a directory is a path that others begin with, or one that ends in a slash.
    files: dict[str, str] = field(default_factory=dict)
    working_directory: str = "/"
    memory_limit: int = 0
    termination_message_path: str = "/dev/termination-log"
    log: list[LogLine] = field(default_factory=list)
    listeners: dict[int, Listener] = field(default_factory=dict)
    memory: int = 0
    disk: int = 0
    #: What SIGTERM does; None leaves it ignored, as the kernel does for process 1 without a handler.
    on_term: Callable[[], None] | None = None
    is_over: bool = False
    _tasks: list[asyncio.Task[Any]] = field(default_factory=list)
    _timers: list[asyncio.TimerHandle] = field(default_factory=list)
    _unfinished: dict[str, str] = field(default_factory=dict)

    # Output

    def write(self, text: str, stream: str = "stdout") -> None:
        """Whole lines go to the log; the rest waits for its end."""
        text = self._unfinished.pop(stream, "") + text
        *lines, rest = text.split("\n")
        if rest:
            self._unfinished[stream] = rest
        now_s = self.clock.now_s()
        self.log += [LogLine(now_s, stream, line + "\n") for line in lines]
        if len(self.log) > LOG_LINES_MAX:
            del self.log[:-LOG_LINES_MAX]
        if lines:
            self.wrote()

    # Living

    def run(self, main: Coroutine[Any, Any, int]) -> None:
        """Runs a program to its end; the container ends with it."""
        self._tasks.append(asyncio.get_running_loop().create_task(self._main(main), name=f"program {self.hostname}"))

    def also(self, work: Coroutine[Any, Any, object]) -> asyncio.Task[Any]:
        """Runs something beside the program, until it ends."""
        task = asyncio.get_running_loop().create_task(work, name=f"beside {self.hostname}")
        self._tasks.append(task)
        return task

    def later(self, delay_s: float, callback: Callable[[], None]) -> None:
        self._timers.append(self.clock.call_later(delay_s, callback))

    async def _main(self, main: Coroutine[Any, Any, int]) -> None:
        try:
            code = await main
        except ExitError as error:
            code = error.code
        self.exit(code)

    def exit(self, code: int, oom: bool = False) -> None:
        if self.is_over:
            return
        self.is_over = True
        for stream, text in self._unfinished.items():
            self.log.append(LogLine(self.clock.now_s(), stream, text))
        self._unfinished.clear()
        self.listeners.clear()
        for timer in self._timers:
            timer.cancel()
        current = asyncio.current_task()
        for task in self._tasks:
            if task is not current:
                task.cancel()
        self._tasks.clear()
        self._timers.clear()
        self.ended(code, oom)

    def terminate(self) -> None:
        """SIGTERM."""
        if self.on_term is not None and not self.is_over:
            self.on_term()

    def kill(self) -> None:
        """SIGKILL."""
        self.exit(SIGKILL_EXIT)

    def use_memory(self, amount: int) -> None:
        """Whoever uses more than the limit is killed."""
        self.memory = amount
        if self.memory_limit and amount > self.memory_limit:
            self.exit(SIGKILL_EXIT, oom=True)

    # Serving

    def listen(self, listener: Listener) -> None:
        self.listeners[listener.port] = listener

    # Files

    def path(self, name: str) -> str:
        joined = name if name.startswith("/") else f"{self.working_directory.rstrip('/')}/{name}"
        parts: list[str] = []
        for part in joined.split("/"):
            if part == "..":
                del parts[-1:]
            elif part and part != ".":
                parts.append(part)
        return "/" + "/".join(parts)

    def is_directory(self, path: str) -> bool:
        prefix = path.rstrip("/") + "/"
        return path == "/" or any(name.startswith(prefix) for name in self.files)

    def listing(self, path: str) -> list[str]:
        prefix = path.rstrip("/") + "/"
        names = {name[len(prefix) :].split("/", 1)[0] for name in self.files if name.startswith(prefix)}
        return sorted(name for name in names if name)

    @property
    def termination_message(self) -> str:
        return self.files.get(self.termination_message_path, "")
