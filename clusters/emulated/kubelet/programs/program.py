"""The behaviour language: what a container does, said in a few words, per image or as an annotation on the Pod.

kaput.dev/program.web: '{"serves": [8080], "ready_after": 3, "exit_code": 1, "exit_after": 60}'

exit_code, exit_after     ends with this code after so many seconds (without exit_after: at once)
log                       lines, written at the start; or {"after": 2, "line": "…"}
serves                    ports, or {"port": 80, "protocol": "http|tcp|grpc", "ready_after": 1, "status": 200,
                          "paths": {"/healthz": 500}, "delay": 0}
ready_after               all ports open so many seconds after the start
memory, memory_after      uses so much memory ("64Mi"), from a second on; beyond its limit it is OOM killed
disk, disk_after          writes so many bytes to its own file system
on_term                   "ignore", or {"after": 1, "exit_code": 0, "log": "bye"}; default: ends with 0 at once
termination_message       what it leaves in its terminationMessagePath
start_error               the runtime cannot start it, with this text
fails_starts              the first n starts end with exit_code (or 1); later ones run
files                     {"/tmp/ok": "content"}
script                    runs this shell script instead
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import yaml

from clusters.emulated.kubelet.programs.box import Box, Listener
from clusters.kube.quantity import QuantityError
from clusters.kube.quantity import parse as parse_quantity

ANNOTATION_PREFIX: Final = "kaput.dev/program."
#: A process takes a moment to start and to end, however little it does.
MOMENT_S: Final = 0.05


class ProgramError(Exception):
    """This is no program; the text says what is wrong with it. Show it where the program was given."""


@dataclass(frozen=True, slots=True)
class StopBehaviour:
    """What SIGTERM does."""

    ignored: bool = False
    after_s: float = 0.0
    exit_code: int = 0
    log: str = ""


@dataclass(frozen=True, slots=True)
class Serving:
    port: int
    protocol: str = "http"
    ready_after_s: float = 0.0
    status: int = 200
    body: str = ""
    paths: Mapping[str, int] = field(default_factory=dict)
    delay_s: float = 0.0


@dataclass(frozen=True, slots=True)
class Program:
    exit_code: int | None = None
    exit_after_s: float | None = None
    log: tuple[tuple[float, str], ...] = ()
    serves: tuple[Serving, ...] = ()
    memory: int = 0
    memory_after_s: float = 0.0
    disk: int = 0
    disk_after_s: float = 0.0
    on_term: StopBehaviour = StopBehaviour()
    termination_message: str = ""
    start_error: str = ""
    fails_starts: int = 0
    files: Mapping[str, str] = field(default_factory=dict)
    script: str = ""

    def start(self, box: Box, attempt: int = 0) -> None:
        """Begins in this box; the rest comes by timers, so that a container that only runs costs nothing."""
        if self.termination_message:
            box.files[box.termination_message_path] = self.termination_message
        box.files.update(self.files)
        for after_s, line in self.log:
            _after(box, after_s, lambda line=line: box.write(line + "\n"))
        for serving in self.serves:
            _after(box, serving.ready_after_s, lambda serving=serving: box.listen(_listener(serving)))
        if self.disk:
            _after(box, self.disk_after_s, lambda: setattr(box, "disk", self.disk))
        if self.memory:
            _after(box, self.memory_after_s or MOMENT_S, lambda: box.use_memory(self.memory))
        if not self.on_term.ignored:
            box.on_term = lambda: self._stop(box)
        if self.script:
            from clusters.emulated.kubelet.programs.shell import run_script

            box.run(run_script(box, self.script, []))
        elif attempt < self.fails_starts:
            box.later(self.exit_after_s or MOMENT_S, lambda: box.exit(self.exit_code or 1))
        elif not self.fails_starts and (self.exit_code is not None or self.exit_after_s is not None):
            box.later(max(self.exit_after_s or 0.0, MOMENT_S), lambda: box.exit(self.exit_code or 0))

    def _stop(self, box: Box) -> None:
        if self.on_term.log:
            box.write(self.on_term.log + "\n")
        box.on_term = None
        box.later(max(self.on_term.after_s, MOMENT_S), lambda: box.exit(self.on_term.exit_code))


def _after(box: Box, delay_s: float, callback: Any) -> None:
    if delay_s > 0:
        box.later(delay_s, callback)
    else:
        callback()


def _listener(serving: Serving) -> Listener:
    if serving.protocol != "http":
        return Listener(serving.port, delay_s=serving.delay_s, grpc=serving.protocol == "grpc")
    return Listener(
        serving.port,
        answer=lambda path: (serving.paths.get(path.split("?", 1)[0], serving.status), serving.body),
        delay_s=serving.delay_s,
    )


def annotated_program(annotations: Mapping[str, str] | None, container: str) -> Program | None:
    """The program that a Pod's annotation gives this container, if any."""
    text = (annotations or {}).get(ANNOTATION_PREFIX + container)
    if text is None:
        return None
    try:
        given = json.loads(text) if text.lstrip().startswith("{") else yaml.safe_load(text)
    except (ValueError, yaml.YAMLError) as error:
        raise ProgramError(f"annotation {ANNOTATION_PREFIX}{container} is neither JSON nor YAML: {error}") from error
    if not isinstance(given, dict):
        raise ProgramError(f"annotation {ANNOTATION_PREFIX}{container} must be a mapping, not {type(given).__name__}")
    return program_of(given)


_KEYS: Final = frozenset(
    {
        "exit_code", "exit_after", "log", "serves", "ready_after", "memory", "memory_after", "disk", "disk_after",
        "on_term", "termination_message", "start_error", "fails_starts", "files", "script",
    }
)  # fmt: skip


def program_of(given: Mapping[str, Any]) -> Program:
    unknown = sorted(set(given) - _KEYS)
    if unknown:
        raise ProgramError(f"a program has no {', '.join(unknown)}; it has {', '.join(sorted(_KEYS))}")
    try:
        ready_after_s = float(given.get("ready_after") or 0)
        return Program(
            exit_code=None if given.get("exit_code") is None else int(given["exit_code"]),
            exit_after_s=None if given.get("exit_after") is None else float(given["exit_after"]),
            log=tuple(_log_line(entry) for entry in _listed(given.get("log"))),
            serves=tuple(_serving(entry, ready_after_s) for entry in _listed(given.get("serves"))),
            memory=_bytes(given.get("memory")),
            memory_after_s=float(given.get("memory_after") or 0),
            disk=_bytes(given.get("disk")),
            disk_after_s=float(given.get("disk_after") or 0),
            on_term=_stop_behaviour(given.get("on_term")),
            termination_message=str(given.get("termination_message") or ""),
            start_error=str(given.get("start_error") or ""),
            fails_starts=int(given.get("fails_starts") or 0),
            files={str(path): str(content) for path, content in (given.get("files") or {}).items()},
            script=str(given.get("script") or ""),
        )
    except (TypeError, ValueError, AttributeError, KeyError) as error:
        raise ProgramError(f"not a program: {error}") from error


def _listed(value: Any) -> list[Any]:
    if value is None:
        return []
    return value if isinstance(value, list) else [value]


def _log_line(entry: Any) -> tuple[float, str]:
    if isinstance(entry, dict):
        return float(entry.get("after") or 0), str(entry["line"])
    return 0.0, str(entry)


def _serving(entry: Any, ready_after_s: float) -> Serving:
    if not isinstance(entry, dict):
        return Serving(int(entry), ready_after_s=ready_after_s)
    return Serving(
        port=int(entry["port"]),
        protocol=str(entry.get("protocol") or "http"),
        ready_after_s=float(entry.get("ready_after") or ready_after_s),
        status=int(entry.get("status") or 200),
        body=str(entry.get("body") or ""),
        paths={str(path): int(code) for path, code in (entry.get("paths") or {}).items()},
        delay_s=float(entry.get("delay") or 0),
    )


def _stop_behaviour(value: Any) -> StopBehaviour:
    if value is None:
        return StopBehaviour()
    if value == "ignore":
        return StopBehaviour(ignored=True)
    return StopBehaviour(
        after_s=float(value.get("after") or 0),
        exit_code=int(value.get("exit_code") or 0),
        log=str(value.get("log") or ""),
    )


def _bytes(value: Any) -> int:
    if not value:
        return 0
    try:
        return int(parse_quantity(str(value)).value())
    except QuantityError as error:
        raise ProgramError(f"{value!r} is not an amount of bytes") from error
