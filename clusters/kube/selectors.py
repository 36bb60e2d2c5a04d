"""Label selectors: parsed from a query string or a LabelSelector object, compiled to a fast test.

    >>> selector = parse("app in (web,api),!legacy")
    >>> selector.matches({"app": "web"}), str(selector)
    (True, 'app in (api,web),!legacy')

Field selectors are in `fieldselectors`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

from clusters.kube import names
from clusters.kube.field import (
    FieldError,
    aggregate,
    child,
    forbidden,
    index,
    invalid,
    key,
    not_supported,
    required,
)
from clusters.kube.gostring import quote

Labels = Mapping[str, str]

_BINARY_OPERATORS = ("in", "notin", "=", "==", "!=", "gt", "lt")
_OPERATORS = (*_BINARY_OPERATORS, "exists", "!")


class SelectorError(ValueError):
    """The selector cannot be read; `str()` is Kubernetes' text for it."""


class Requirement(NamedTuple):
    """One term. `operator` is one of in, notin, =, ==, !=, gt, lt, exists, !."""

    key: str
    operator: str
    values: tuple[str, ...]

    def __str__(self) -> str:
        if self.operator == "!":
            return f"!{self.key}"
        if self.operator == "exists":
            return self.key
        values = ",".join(sorted(self.values))
        if self.operator in ("in", "notin"):
            return f"{self.key} {self.operator} ({values})"
        return f"{self.key}{ {'gt': '>', 'lt': '<'}.get(self.operator, self.operator) }{values}"

    def matcher(self) -> Callable[[Labels], bool]:
        name, operator, values = self
        if operator in ("=", "==", "in"):
            if len(values) == 1:
                only = values[0]
                return lambda labels: labels.get(name) == only
            wanted = frozenset(values)
            return lambda labels: labels.get(name) in wanted
        if operator in ("!=", "notin"):
            unwanted = frozenset(values)
            return lambda labels: labels.get(name) not in unwanted
        if operator == "exists":
            return lambda labels: name in labels
        if operator == "!":
            return lambda labels: name not in labels
        bound = int(values[0])
        greater = operator == "gt"

        def compare(labels: Labels) -> bool:
            number = _int64(labels.get(name, ""))
            if number is None:
                return False
            return number > bound if greater else number < bound

        return compare


def _int64(text: str) -> int | None:
    digits = text[1:] if text[:1] in ("+", "-") else text
    if not digits.isascii() or not digits.isdigit():
        return None
    number = int(text)
    return number if -(1 << 63) <= number < 1 << 63 else None


class Selector:
    """All requirements must hold. `matches` is compiled once."""

    __slots__ = ("matches", "requirements", "selects_nothing")

    matches: Callable[[Labels], bool]

    def __init__(self, requirements: Sequence[Requirement], *, selects_nothing: bool = False) -> None:
        self.requirements = tuple(sorted(requirements, key=lambda requirement: requirement.key))
        self.selects_nothing = selects_nothing
        self.matches = _never if selects_nothing else _compile(self.requirements)

    @property
    def empty(self) -> bool:
        """Selects everything."""
        return not self.requirements and not self.selects_nothing

    def __str__(self) -> str:
        return ",".join(map(str, self.requirements))

    def exact(self, label: str) -> str | None:
        """The one value the selector demands of `label`, if it does."""
        for requirement in self.requirements:
            if requirement.key == label:
                if requirement.operator in ("=", "==", "in") and len(requirement.values) == 1:
                    return requirement.values[0]
                return None
        return None


def _never(labels: Labels) -> bool:
    return False


def _always(labels: Labels) -> bool:
    return True


def _compile(requirements: tuple[Requirement, ...]) -> Callable[[Labels], bool]:
    if not requirements:
        return _always
    if all(r.operator in ("=", "==", "in") and len(r.values) == 1 for r in requirements):
        pairs = {r.key: r.values[0] for r in requirements}
        if len(pairs) == len(requirements):
            wanted = pairs.items()
            return lambda labels: wanted <= labels.items()
    matchers = tuple(requirement.matcher() for requirement in requirements)
    if len(matchers) == 1:
        return matchers[0]
    return lambda labels: all(matcher(labels) for matcher in matchers)


EVERYTHING = Selector(())
NOTHING = Selector((), selects_nothing=True)


def requirement(name: str, operator: str, values: Sequence[str]) -> Requirement:
    """Checked. Raises SelectorError."""
    errors: list[FieldError] = []
    wrong = names.qualified_name(name)
    if wrong:
        errors.append(invalid("key", name, "; ".join(wrong)))
    count = len(values)
    if operator in ("in", "notin"):
        if not count:
            errors.append(invalid("values", [], "for 'in', 'notin' operators, values set can't be empty"))
    elif operator in ("=", "==", "!="):
        if count != 1:
            errors.append(invalid("values", list(values), "exact-match compatibility requires one single value"))
    elif operator in ("exists", "!"):
        if count:
            text = "values set must be empty for exists and does not exist"
            errors.append(invalid("values", list(values), text))
    elif operator in ("gt", "lt"):
        if count != 1:
            text = "for 'Gt', 'Lt' operators, exactly one value is required"
            errors.append(invalid("values", list(values), text))
        for position, value in enumerate(values):
            if _int64(value) is None:
                text = "for 'Gt', 'Lt' operators, the value must be an integer"
                errors.append(invalid(index("values", position), value, text))
    else:
        errors.append(not_supported("operator", operator, _OPERATORS))
    for position, value in enumerate(values):
        wrong = names.label_value(value)
        if wrong:
            errors.append(invalid(key(index("values", position), name), value, "; ".join(wrong)))
    if errors:
        raise SelectorError(aggregate(errors))
    return Requirement(name, operator, tuple(values))


# --- from a string ---------------------------------------------------------------------------------------

_SYMBOLS = {")": ")", ",": ",", "!": "!", "==": "==", "=": "=", ">": "gt", "<": "lt", "!=": "!=", "(": "("}
_SPECIAL = frozenset("=!(),><")
_SPACE = frozenset(" \t\r\n")
_END = "end"
_ERROR = "error"
_IDENTIFIER = "identifier"


def _tokens(text: str) -> list[tuple[str, str]]:
    tokens: list[tuple[str, str]] = []
    position, end = 0, text.find("\0") if "\0" in text else len(text)
    while True:
        while position < end and text[position] in _SPACE:
            position += 1
        if position >= end:
            tokens.append((_END, ""))
            return tokens
        start = position
        if text[position] in _SPECIAL:
            literal = ""
            seen = ""
            while position < end and text[position] in _SPECIAL:
                seen += text[position]
                if seen in _SYMBOLS:
                    literal = seen
                elif literal:
                    break
                position += 1
            if literal:
                tokens.append((_SYMBOLS[literal], literal))
            else:
                tokens.append((_ERROR, f"error expected: keyword found '{seen}'"))
            continue
        while position < end and text[position] not in _SPECIAL and text[position] not in _SPACE:
            position += 1
        word = text[start:position]
        tokens.append((word if word in ("in", "notin") else _IDENTIFIER, word))


class _Parser:
    def __init__(self, text: str) -> None:
        self.tokens = _tokens(text)
        self.position = 0

    def peek(self) -> tuple[str, str]:
        token, literal = self.tokens[self.position]
        return (_IDENTIFIER if token in ("in", "notin") else token), literal

    def take(self) -> tuple[str, str]:
        token = self.peek()
        # The end stays where it is: asking past it gives the end again.
        self.position = min(self.position + 1, len(self.tokens) - 1)
        return token

    def take_operator(self) -> tuple[str, str]:
        token = self.tokens[self.position]
        self.position = min(self.position + 1, len(self.tokens) - 1)
        return token

    def parse(self) -> list[Requirement]:
        requirements: list[Requirement] = []
        while True:
            token, literal = self.peek()
            if token == _END:
                return requirements
            if token not in (_IDENTIFIER, "!"):
                raise SelectorError(f"found '{literal}', expected: !, identifier, or 'end of string'")
            try:
                requirements.append(self.requirement())
            except SelectorError as wrong:
                raise SelectorError(f"unable to parse requirement: {wrong}") from None
            token, literal = self.take()
            if token == _END:
                return requirements
            if token != ",":
                raise SelectorError(f"found '{literal}', expected: ',' or 'end of string'")
            token, literal = self.peek()
            if token not in (_IDENTIFIER, "!"):
                raise SelectorError(f"found '{literal}', expected: identifier after ','")

    def requirement(self) -> Requirement:
        token, name = self.take()
        absent = token == "!"
        if absent:
            token, name = self.take()
        if token != _IDENTIFIER:
            raise SelectorError(f"found '{name}', expected: identifier")
        wrong = names.qualified_name(name)
        if wrong:
            raise SelectorError(str(invalid("<nil>", name, "; ".join(wrong))))
        if absent:
            return requirement(name, "!", ())
        if self.peek()[0] in (_END, ","):
            return requirement(name, "exists", ())
        operator, literal = self.take_operator()
        if operator not in _BINARY_OPERATORS:
            raise SelectorError(f"found '{literal}', expected: {', '.join(_BINARY_OPERATORS)}")
        values = self.values() if operator in ("in", "notin") else self.exact_value()
        return requirement(name, operator, sorted(values))

    def values(self) -> set[str]:
        token, literal = self.take()
        if token != "(":
            raise SelectorError(f"found '{literal}' expected: '('")
        token, literal = self.peek()
        if token in (_IDENTIFIER, ","):
            found = self.identifiers()
            if self.take()[0] != ")":
                raise SelectorError(f"found '{literal}', expected: ')'")
            return found
        if token == ")":
            self.take()
            return {""}
        raise SelectorError(f"found '{literal}', expected: ',', ')' or identifier")

    def identifiers(self) -> set[str]:
        found: set[str] = set()
        while True:
            token, literal = self.take()
            if token == _IDENTIFIER:
                found.add(literal)
                token, literal = self.peek()
                if token == ")":
                    return found
                if token != ",":
                    raise SelectorError(f"found '{literal}', expected: ',' or ')'")
            elif token == ",":
                if not found:
                    found.add("")
                token, _ = self.peek()
                if token == ")":
                    return found | {""}
                if token == ",":
                    found.add("")
            else:
                raise SelectorError(f"found '{literal}', expected: ',', or identifier")

    def exact_value(self) -> set[str]:
        token, _ = self.peek()
        if token in (_END, ","):
            return {""}
        token, literal = self.take()
        if token != _IDENTIFIER:
            raise SelectorError(f"found '{literal}', expected: identifier")
        return {literal}


@lru_cache(maxsize=2048)
def parse(text: str) -> Selector:
    """A `labelSelector` query. Raises SelectorError."""
    return Selector(_Parser(text).parse()) if text else EVERYTHING


# --- from objects ----------------------------------------------------------------------------------------

_OBJECT_OPERATORS = {"In": "in", "NotIn": "notin", "Exists": "exists", "DoesNotExist": "!"}


def from_map(labels: Labels | None) -> Selector:
    """The plain selector of Services and ReplicationControllers; none selects everything."""
    if not labels:
        return EVERYTHING
    return Selector([Requirement(name, "=", (value,)) for name, value in labels.items()])


def from_label_selector(selector: Mapping[str, Any] | None) -> Selector:
    """A LabelSelector object: absent selects nothing, empty selects everything. Raises SelectorError."""
    if selector is None:
        return NOTHING
    labels: Labels = selector.get("matchLabels") or {}
    requirements = [requirement(name, "=", (value,)) for name, value in labels.items()]
    for expression in selector.get("matchExpressions") or ():
        operator = _OBJECT_OPERATORS.get(expression.get("operator", ""))
        if operator is None:
            text = quote(expression.get("operator", ""))
            raise SelectorError(f"{text} is not a valid label selector operator")
        requirements.append(requirement(expression.get("key", ""), operator, expression.get("values") or ()))
    return Selector(requirements) if requirements else EVERYTHING


def validate_labels(labels: Labels | None, path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    for name, value in (labels or {}).items():
        for text in names.qualified_name(name):
            errors.append(invalid(path, name, text))
        for text in names.label_value(value):
            errors.append(invalid(path, value, text))
    return errors


def validate_label_selector(
    selector: Mapping[str, Any] | None, path: str, *, allow_invalid_values: bool = False
) -> list[FieldError]:
    """The fields of a LabelSelector object."""
    if not selector:
        return []
    errors = validate_labels(selector.get("matchLabels"), child(path, "matchLabels"))
    for position, expression in enumerate(selector.get("matchExpressions") or ()):
        at = index(child(path, "matchExpressions"), position)
        errors += validate_label_selector_requirement(expression, at, allow_invalid_values=allow_invalid_values)
    return errors


def validate_label_selector_requirement(
    expression: Mapping[str, Any], path: str, *, allow_invalid_values: bool = False
) -> list[FieldError]:
    errors: list[FieldError] = []
    operator = expression.get("operator", "")
    values = expression.get("values") or ()
    if operator in ("In", "NotIn"):
        if not values:
            text = "must be specified when `operator` is 'In' or 'NotIn'"
            errors.append(required(child(path, "values"), text))
    elif operator in ("Exists", "DoesNotExist"):
        if values:
            text = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"
            errors.append(forbidden(child(path, "values"), text))
    else:
        errors.append(invalid(child(path, "operator"), operator, "not a valid selector operator"))
    name = expression.get("key", "")
    for text in names.qualified_name(name):
        errors.append(invalid(child(path, "key"), name, text))
    if not allow_invalid_values:
        for position, value in enumerate(values):
            for text in names.label_value(value):
                errors.append(invalid(index(child(path, "values"), position), value, text))
    return errors
