"""A small shell on cluster time: enough of `sh` and of busybox for the command lines that manifests carry.

`run_command(box, argv)` is process 1 of a container; `execute(box, argv, …)` is one command beside it, as
`kubectl exec`, probes and hooks run it. `CommandNotFoundError` says what the runtime says of a program that is
not in the image.
"""

from __future__ import annotations

import asyncio
import re
from dataclasses import dataclass, field
from typing import Final

from clusters.emulated.kubelet.programs import busybox
from clusters.emulated.kubelet.programs.box import SIGKILL_EXIT, Box, ExitError
from clusters.emulated.kubelet.programs.program import MOMENT_S
from clusters.emulated.kubelet.programs.shell_syntax import (
    Command,
    For,
    Group,
    If,
    Pipeline,
    Sequence,
    ShellSyntaxError,
    Simple,
    While,
    parse,
)

SHELLS: Final = frozenset({"sh", "bash", "ash", "dash", "/bin/sh", "/bin/bash", "/bin/ash", "/usr/bin/bash"})
#: A loop that does nothing but compute would never give the others a turn.
_TURN_S: Final = 0.1
#: Memory doubles at least this often in a script that keeps appending to a variable.
_GROWN: Final = 1 << 16

_VARIABLE = re.compile(r"\$(?:\{(\w+)(?::?-([^}]*))?\}|(\w+|[?$#@*!]))")
_ASSIGNMENT = re.compile(r"([A-Za-z_]\w*)=(.*)\Z", re.DOTALL)


@dataclass(slots=True)
class Streams:
    """Where a command's output goes: to the container's log, or kept for who asked."""

    box: Box
    to_log: bool
    stdin: str = ""
    stdout: list[str] = field(default_factory=list)
    stderr: list[str] = field(default_factory=list)

    def write(self, text: str, stream: str = "stdout") -> None:
        if self.to_log:
            self.box.write(text, stream)
        else:
            (self.stdout if stream == "stdout" else self.stderr).append(text)


@dataclass(slots=True)
class Executed:
    code: int
    stdout: str
    stderr: str


async def run_command(box: Box, argv: list[str]) -> int:
    """Process 1: its output is the container's log."""
    await box.clock.sleep(MOMENT_S)
    return await _Shell(box, Streams(box, to_log=True), is_init=True).run(argv)


async def run_script(box: Box, script: str, arguments: list[str]) -> int:
    await box.clock.sleep(MOMENT_S)
    return await _Shell(box, Streams(box, to_log=True), is_init=True).script(script, arguments)


async def execute(box: Box, argv: list[str], stdin: str = "") -> Executed:
    """One command in a running container."""
    streams = Streams(box, to_log=False, stdin=stdin)
    shell = _Shell(box, streams, is_init=False)
    try:
        code = await shell.run(argv)
    except ExitError as error:
        code = error.code
    return Executed(code, "".join(streams.stdout), "".join(streams.stderr))


class _Shell:
    def __init__(self, box: Box, streams: Streams, is_init: bool) -> None:
        self._box = box
        self._streams = streams
        self._is_init = is_init
        self._variables: dict[str, str] = {}
        self._arguments: list[str] = []
        self._status = 0

    async def run(self, argv: list[str]) -> int:
        if argv[0] in SHELLS:
            rest = [word for word in argv[1:] if not (word.startswith("-") and "c" not in word)]
            if rest and rest[0].startswith("-") and "c" in rest[0]:
                return await self.script(rest[1] if len(rest) > 1 else "", rest[2:])
            if not rest:
                return await self.script(self._streams.stdin, [])  # Without a terminal it ends with its input.
            path = self._box.path(rest[0])
            if path not in self._box.files:
                self._streams.write(f"sh: can't open '{rest[0]}': No such file or directory\n", "stderr")
                return 2
            return await self.script(self._box.files[path], rest[1:])
        return await self._call(argv, self._streams)

    async def script(self, text: str, arguments: list[str]) -> int:
        self._arguments = arguments
        try:
            sequence = parse(text)
        except ShellSyntaxError as error:
            self._streams.write(f"sh: {error}\n", "stderr")
            return 2
        try:
            return await self._sequence(sequence)
        except ExitError as error:
            return error.code

    # Structure

    async def _sequence(self, sequence: Sequence) -> int:
        for pipeline in sequence.pipelines:
            if self._box.is_over:
                raise ExitError(SIGKILL_EXIT)
            if pipeline.joined == "&&" and self._status != 0:
                continue
            if pipeline.joined == "||" and self._status == 0:
                continue
            if pipeline.background:
                self._box.also(self._pipeline(pipeline))
                self._status = 0
            else:
                self._status = await self._pipeline(pipeline)
        return self._status

    async def _pipeline(self, pipeline: Pipeline) -> int:
        streams = self._streams
        for command in pipeline.commands[:-1]:
            kept = Streams(self._box, to_log=False, stdin=streams.stdin)
            await self._command(command, kept)
            for text in kept.stderr:
                self._streams.write(text, "stderr")
            streams = Streams(self._box, self._streams.to_log, "".join(kept.stdout))
            streams.stdout, streams.stderr = self._streams.stdout, self._streams.stderr
        code = await self._command(pipeline.commands[-1], streams)
        return int(code == 0) if pipeline.negated else code

    async def _command(self, command: Command, streams: Streams) -> int:
        if isinstance(command, Simple):
            return await self._simple(command, streams)
        if isinstance(command, While):
            return await self._while(command)
        if isinstance(command, Group):
            return await self._sequence(command.body)
        if isinstance(command, If):
            for condition, body in command.branches:
                if await self._sequence(condition) == 0:
                    return await self._sequence(body)
            return 0 if command.otherwise is None else await self._sequence(command.otherwise)
        return await self._for(command)

    async def _for(self, command: For) -> int:
        code = 0
        for word in [expanded for word in command.words for expanded in (await self._words([word]))]:  # noqa: B020
            self._variables[command.variable] = word
            code = await self._sequence(command.body)
        return code

    async def _while(self, command: While) -> int:
        if _only_waits(command):
            await asyncio.get_running_loop().create_future()
        code = 0
        while (await self._sequence(command.condition) == 0) != command.negated:
            began_s = self._box.clock.monotonic_s()
            code = await self._sequence(command.body)
            if self._grows():
                await asyncio.get_running_loop().create_future()
            if self._box.clock.monotonic_s() == began_s:
                await self._box.clock.sleep(_TURN_S)
        return code

    def _grows(self) -> bool:
        """Whether the script eats all the memory there is: with a limit that ends it, without one it goes on for ever."""  # noqa: E501
        if max((len(value) for value in self._variables.values()), default=0) <= _GROWN:
            return False
        self._variables.clear()
        self._box.use_memory(1 << 40)
        if self._box.is_over:
            raise ExitError(SIGKILL_EXIT)
        return True

    # Commands

    async def _simple(self, command: Simple, streams: Streams) -> int:
        words = await self._words(command.words)
        while (
            words
            and (match := _ASSIGNMENT.match(words[0]))
            and words[0] == command.words[0].split("=", 1)[0] + ("=" + match.group(2))
        ):
            self._variables[match.group(1)] = match.group(2)
            words, command = words[1:], Simple(command.words[1:], command.redirections, command.stderr_to_stdout)
        if not words:
            return 0
        return await self._redirected(words, command, streams)

    async def _redirected(self, words: list[str], command: Simple, streams: Streams) -> int:
        if not command.redirections and not command.stderr_to_stdout:
            return await self._call(words, streams)
        kept = Streams(self._box, to_log=False, stdin=streams.stdin)
        targets: dict[str, tuple[str, bool]] = {}
        for operator, word in command.redirections:
            (name,) = await self._words([word]) or [""]
            if operator == "<":
                kept.stdin = self._box.files.get(self._box.path(name), "")
                continue
            append = operator.endswith(">>")
            for stream in ("stdout", "stderr") if operator == "&>" else ("stderr",) if "2" in operator else ("stdout",):
                targets[stream] = (name, append)
        code = await self._call(words, kept)
        outputs = {"stdout": "".join(kept.stdout), "stderr": "".join(kept.stderr)}
        if command.stderr_to_stdout:
            outputs["stdout"], outputs["stderr"] = outputs["stdout"] + outputs["stderr"], ""
        for stream, text in outputs.items():
            if stream in targets:
                name, append = targets[stream]
                if name not in ("/dev/stdout", "/dev/stderr", "/proc/1/fd/1", "/proc/1/fd/2"):
                    self._store(name, text, append)
                    continue
                stream = "stderr" if name.endswith(("stderr", "2")) else "stdout"
            if text:
                streams.write(text, stream)
        return code

    def _store(self, name: str, text: str, append: bool) -> None:
        path = self._box.path(name)
        if path == "/dev/null":
            return
        self._box.files[path] = (self._box.files.get(path, "") if append else "") + text

    async def _call(self, argv: list[str], streams: Streams) -> int:
        name, arguments = argv[0], argv[1:]
        match name:
            case "exit":
                raise ExitError(int(arguments[0]) & 255 if arguments and arguments[0].isdigit() else self._status)
            case "trap":
                self._trap(arguments)
                return 0
            case "exec" if arguments:
                raise ExitError(await self.run(arguments))
            case "set" | "export" | "umask" | "shift" | "wait" | "local" | "readonly":
                for word in arguments:
                    if match := _ASSIGNMENT.match(word):
                        self._variables[match.group(1)] = match.group(2)
                        if name == "export":
                            self._box.environment[match.group(1)] = match.group(2)
                return 0
            case "cd":
                self._box.working_directory = self._box.path(arguments[0] if arguments else "/root")
                return 0
            case "kill":
                return self._kill(arguments, streams)
            case "eval":
                return await self._sequence(parse(" ".join(arguments)))
        if name in SHELLS:
            return await _Shell(self._box, streams, False).run(argv)
        return await busybox.call(self._box, argv, streams)

    def _trap(self, arguments: list[str]) -> None:
        if len(arguments) < 2 or not self._is_init:
            return
        body, signals = arguments[0], {signal.upper().removeprefix("SIG") for signal in arguments[1:]}
        if signals & {"TERM", "15"}:
            self._box.on_term = (lambda: None) if not body else lambda: self._trapped(body)

    def _trapped(self, body: str) -> None:
        async def handler() -> None:
            try:
                await self._sequence(parse(body))
            except ExitError as error:
                self._box.exit(error.code)

        self._box.also(handler())

    def _kill(self, arguments: list[str], streams: Streams) -> int:
        signal = "TERM"
        targets = []  # type: ignore[var-annotated]
        for word in arguments:
            if word.startswith("-") and not targets:
                signal = word[1:].upper().removeprefix("SIG")
            else:
                targets.append(word)
        for target in targets:
            if not target.isdigit():
                streams.write(f"sh: invalid number '{target}'\n", "stderr")
                return 1
            if target == "1" and signal in ("TERM", "15"):
                self._box.terminate()
            elif target == "1" and signal in ("KILL", "9") and not self._is_init:
                continue  # Process 1 cannot be killed from inside its own namespace.
        return 0

    # Words

    async def _words(self, words: list[str]) -> list[str]:
        expanded: list[str] = []
        for word in words:
            if "$(" in word or "`" in word:
                word = await self._substituted(word)
            text, quoted = self._expanded(word)
            if quoted or text:
                expanded += [text] if quoted or "$" not in word else text.split()
        return expanded

    async def _substituted(self, word: str) -> str:
        while (start := word.find("$(")) >= 0:
            depth, end = 0, start + 1
            while end < len(word):
                depth += {"(": 1, ")": -1}.get(word[end], 0)
                if depth == 0:
                    break
                end += 1
            output = await self._output(word[start + 2 : end])
            word = word[:start] + output + word[end + 1 :]
        return word

    async def _output(self, script: str) -> str:
        streams = Streams(self._box, to_log=False)
        inner = _Shell(self._box, streams, False)
        inner._variables = self._variables
        await inner.script(script, self._arguments)
        return "".join(streams.stdout).rstrip("\n")

    def _expanded(self, word: str) -> tuple[str, bool]:
        """The text of a word, and whether any of it was quoted (then it is not split)."""
        out: list[str] = []
        quoted = False
        index = 0
        while index < len(word):
            character = word[index]
            if character == "'":
                end = word.index("'", index + 1)
                out.append(word[index + 1 : end])
                quoted, index = True, end + 1
            elif character == '"':
                end = index + 1
                while word[end] != '"':
                    end += 2 if word[end] == "\\" else 1
                inner = re.sub(r'\\(["\\$`])', r"\1", self._variables_in(word[index + 1 : end]))
                out.append(inner)
                quoted, index = True, end + 1
            elif character == "\\":
                out.append(word[index + 1 : index + 2])
                index += 2
            else:
                end = index
                while end < len(word) and word[end] not in "'\"\\":
                    end += 1
                out.append(self._variables_in(word[index:end]))
                index = end
        return "".join(out), quoted

    def _variables_in(self, text: str) -> str:
        return _VARIABLE.sub(self._variable, text) if "$" in text else text

    def _variable(self, match: re.Match[str]) -> str:
        name = match.group(1) or match.group(3)
        special = {"?": str(self._status), "$": "1" if self._is_init else "42", "#": str(len(self._arguments))}
        if name in special:
            return special[name]
        if name in "@*":
            return " ".join(self._arguments[1:])
        if name.isdigit():
            number = int(name)
            return self._arguments[number] if number < len(self._arguments) else ""
        found = self._variables.get(name, self._box.environment.get(name))
        return found or match.group(2) or ""


def _only_waits(loop: While) -> bool:
    """`while true; do sleep 1; done`: nothing will ever come of it, so that it need not be carried out."""

    def plain(sequence: Sequence, names: frozenset[str]) -> bool:
        return all(
            len(pipeline.commands) == 1
            and not pipeline.background
            and isinstance(command := pipeline.commands[0], Simple)
            and command.words[:1]
            and command.words[0] in names
            and not command.redirections
            for pipeline in sequence.pipelines
        )

    return (
        not loop.negated
        and plain(loop.condition, frozenset({"true", ":", "sleep"}))
        and plain(loop.body, frozenset({"sleep", "true", ":"}))
    )


__all__ = ["SIGKILL_EXIT", "Executed", "execute", "run_command", "run_script"]
