"""What can go wrong with a CEL expression, in cel-go's words."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

MAX_REPORTED = 100
MAX_SNIPPET_BYTES = 16384


class Issue(NamedTuple):
    """One compile error: where (code point offset, or -1 for nowhere) and what."""

    offset: int
    message: str


def render(source: str, issues: Iterable[Issue]) -> str:
    """All issues as cel-go prints them: sorted by place, each with the source line and a caret.

    >>> print(render("a +", [Issue(3, "Syntax error: oops")]))
    ERROR: <input>:1:4: Syntax error: oops
     | a +
     | ...^
    """
    lines = source.split("\n")
    placed = []
    for issue in issues:
        line, column = _place(lines, issue.offset)
        placed.append((line, column, issue.message))
    placed.sort(key=lambda each: each[:2])
    shown = [_display(lines, *each) for each in placed[:MAX_REPORTED]]
    if len(placed) > MAX_REPORTED:
        shown.append(f"{len(placed) - MAX_REPORTED} more errors were truncated")
    return "\n".join(shown)


def _place(lines: Sequence[str], offset: int) -> tuple[int, int]:
    if offset < 0:
        return -1, -1
    for number, line in enumerate(lines, 1):
        if offset <= len(line):
            return number, offset
        offset -= len(line) + 1
    return len(lines), len(lines[-1])


def _display(lines: Sequence[str], line: int, column: int, message: str) -> str:
    text = f"ERROR: <input>:{line}:{column + 1}: {message}"
    if not 1 <= line <= len(lines):
        return text
    snippet = lines[line - 1].replace("\t", " ")
    if len(snippet.encode("utf-8", "surrogatepass")) > MAX_SNIPPET_BYTES:
        return text
    dots = "".join("." if char < "\x80" else "\uff0e" for char in snippet[:column])
    caret = "\uff3e" if column < len(snippet) and snippet[column] >= "\x80" else "^"
    return f"{text}\n | {snippet}\n | {dots}{caret}"


class CelError(Exception):
    """Base of everything this package raises on purpose."""


class CompileError(CelError):
    """The expression cannot be used; ``str`` is cel-go's issue text, ``detail`` is Kubernetes' sentence."""

    detail_prefix = "compilation failed: "

    def __init__(self, text: str, issues: Sequence[Issue] = ()) -> None:
        super().__init__(text)
        self.issues = tuple(issues)

    @property
    def detail(self) -> str:
        return f"{self.detail_prefix}{self}"


class InstantiationError(CompileError):
    """The expression checks, but a constant in it already evaluates to an error, e.g. ``int('x')``."""

    detail_prefix = "program instantiation failed: "


class ResultTypeError(CompileError):
    """The expression is fine but evaluates to another type than the caller may use."""

    detail_prefix = ""

    def __init__(self, expected: Sequence[str], actual: str) -> None:
        wanted = expected[0] if len(expected) == 1 else f"one of [{' '.join(expected)}]"
        super().__init__(f"must evaluate to {wanted} but got {actual}")
        self.expected = tuple(expected)
        self.actual = actual


class EvaluationError(CelError):
    """Evaluation ended in an error; ``str`` is cel-go's text."""


class CostExceeded(EvaluationError):
    """The budget of the call is used up: no && or || absorbs this."""

    def __init__(self) -> None:
        super().__init__("operation cancelled: actual cost limit exceeded")


def no_such_overload() -> EvaluationError:
    return EvaluationError("no such overload")
