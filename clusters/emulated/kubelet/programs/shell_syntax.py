"""The part of the shell's grammar that manifests use: lists, pipes, conditions, loops, redirections, quotes.

    parse("echo a && exit 3")  →  Sequence of commands, each a `Simple`, `While`, `If` or `For`

What it does not understand is a syntax error, as in a shell, and ends the script with exit code 2.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

_TOKEN = re.compile(
    r"""(?P<space>[ \t]+)|(?P<comment>\#[^\n]*)|(?P<newline>\n)
    |(?P<operator>&&|\|\||;;|2>&1|&>|2>>|2>|>>|>|<|;|\||&|\(|\))
    |(?P<word>(?:\\.|'[^']*'|"(?:\\.|[^"\\])*"|\$\((?:[^()]|\([^()]*\))*\)|`[^`]*`|[^\s;&|<>()'"\\`])+)""",
    re.VERBOSE | re.DOTALL,
)
_REDIRECTIONS = frozenset({">", ">>", "<", "2>", "2>>", "&>"})


class ShellSyntaxError(Exception):
    """The script cannot be read; the text is the shell's."""


@dataclass(slots=True)
class Simple:
    words: list[str]
    redirections: list[tuple[str, str]] = field(default_factory=list)
    stderr_to_stdout: bool = False


@dataclass(slots=True)
class While:
    condition: Sequence
    body: Sequence
    negated: bool = False


@dataclass(slots=True)
class If:
    branches: list[tuple[Sequence, Sequence]]
    otherwise: Sequence | None


@dataclass(slots=True)
class For:
    variable: str
    words: list[str]
    body: Sequence


@dataclass(slots=True)
class Group:
    body: Sequence


Command = Simple | While | If | For | Group


@dataclass(slots=True)
class Pipeline:
    commands: list[Command]
    negated: bool = False
    #: How it is joined to the one before: "", "&&" or "||".
    joined: str = ""
    background: bool = False


@dataclass(slots=True)
class Sequence:
    pipelines: list[Pipeline]


def parse(script: str) -> Sequence:
    parser = _Parser(_tokens(script))
    sequence = parser.sequence(frozenset())
    if parser.peek() is not None:
        raise ShellSyntaxError(f'syntax error: unexpected "{parser.peek()}"')
    return sequence


def _tokens(script: str) -> list[tuple[str, str]]:
    tokens: list[tuple[str, str]] = []
    position = 0
    while position < len(script):
        match = _TOKEN.match(script, position)
        if match is None:
            raise ShellSyntaxError("syntax error: unterminated quoted string")
        position = match.end()
        kind = match.lastgroup
        if kind == "comment" and tokens and not script[match.start() - 1].isspace():
            continue
        if kind in ("operator", "word", "newline"):
            assert kind is not None
            tokens.append((kind, match.group()))
    return tokens


class _Parser:
    def __init__(self, tokens: list[tuple[str, str]]) -> None:
        self._tokens = tokens
        self._at = 0

    def peek(self) -> str | None:
        return self._tokens[self._at][1] if self._at < len(self._tokens) else None

    def _kind(self) -> str:
        return self._tokens[self._at][0] if self._at < len(self._tokens) else ""

    def _take(self, wanted: str = "") -> str:
        token = self.peek()
        if token is None or (wanted and token != wanted):
            raise ShellSyntaxError(
                "syntax error: unexpected end of file"
                if token is None
                else f'syntax error: unexpected "{token}" (expecting "{wanted}")'
            )
        self._at += 1
        return token

    def _skip_ends(self) -> None:
        while self.peek() in (";", "\n"):
            self._at += 1

    def sequence(self, ends: frozenset[str]) -> Sequence:
        pipelines: list[Pipeline] = []
        joined = ""
        self._skip_ends()
        while (token := self.peek()) is not None and token not in ends:
            pipeline = self._pipeline()
            pipeline.joined = joined
            pipelines.append(pipeline)
            token, joined = self.peek(), ""
            if token in ("&&", "||"):
                joined = self._take()
                self._skip_ends()
            elif token == "&":
                self._take()
                pipeline.background = True
            elif token not in (";", "\n", None) and token not in ends:
                raise ShellSyntaxError(f'syntax error: unexpected "{token}"')
            if not joined:
                self._skip_ends()
        return Sequence(pipelines)

    def _pipeline(self) -> Pipeline:
        negated = self.peek() == "!"
        if negated:
            self._take()
        commands = [self._command()]
        while self.peek() == "|":
            self._take()
            commands.append(self._command())
        return Pipeline(commands, negated)

    def _command(self) -> Command:
        token = self.peek()
        if token in ("while", "until"):
            self._take()
            condition = self.sequence(frozenset({"do"}))
            self._take("do")
            body = self.sequence(frozenset({"done"}))
            self._take("done")
            return While(condition, body, token == "until")
        if token == "if":
            return self._if()
        if token == "for":
            return self._for()
        if token in ("(", "{"):
            self._take()
            end = ")" if token == "(" else "}"
            body = self.sequence(frozenset({end}))
            self._take(end)
            return Group(body)
        return self._simple()

    def _if(self) -> If:
        branches: list[tuple[Sequence, Sequence]] = []
        otherwise = None
        word = "if"
        while word in ("if", "elif"):
            self._take(word)
            condition = self.sequence(frozenset({"then"}))
            self._take("then")
            branches.append((condition, self.sequence(frozenset({"elif", "else", "fi"}))))
            word = self.peek() or ""
        if word == "else":
            self._take()
            otherwise = self.sequence(frozenset({"fi"}))
        self._take("fi")
        return If(branches, otherwise)

    def _for(self) -> For:
        self._take("for")
        variable = self._take()
        words: list[str] = []
        if self.peek() == "in":
            self._take()
            while self._kind() == "word":
                words.append(self._take())
        self._skip_ends()
        self._take("do")
        body = self.sequence(frozenset({"done"}))
        self._take("done")
        return For(variable, words, body)

    def _simple(self) -> Simple:
        command = Simple([])
        while True:
            token, kind = self.peek(), self._kind()
            if kind == "word" and not (token == "}" and command.words):
                command.words.append(self._take())
            elif token in _REDIRECTIONS:
                operator = self._take()
                if self._kind() != "word":
                    raise ShellSyntaxError("syntax error: unexpected newline")
                command.redirections.append((operator, self._take()))
            elif token == "2>&1":
                self._take()
                command.stderr_to_stdout = True
            else:
                break
        if not command.words and not command.redirections:
            raise ShellSyntaxError(f'syntax error: unexpected "{self.peek() or "end of file"}"')
        return command
