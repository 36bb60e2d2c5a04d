"""Field selectors: `status.phase!=Running,spec.nodeName=node-a`, compiled to a fast test.

>>> selector = parse("status.phase=Running")
>>> selector.matches({"status.phase": "Running"})
True
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import NamedTuple

from clusters.kube.selectors import SelectorError

Fields = Mapping[str, str]


class Term(NamedTuple):
    field: str
    operator: str  # "=" or "!="
    value: str

    def __str__(self) -> str:
        value = self.value.replace("\\", "\\\\").replace(",", "\\,").replace("=", "\\=")
        return f"{self.field}{self.operator}{value}"


class FieldSelector:
    """All terms must hold; a field that is absent has the empty value."""

    __slots__ = ("matches", "terms")

    matches: Callable[[Fields], bool]

    def __init__(self, terms: tuple[Term, ...]) -> None:
        self.terms = terms

        def matches(fields: Fields) -> bool:
            return all((fields.get(field, "") == value) == (operator == "=") for field, operator, value in terms)

        self.matches = matches

    @property
    def empty(self) -> bool:
        return not self.terms

    def exact(self, field: str) -> str | None:
        """The one value the selector demands of `field`, if it does."""
        for term in self.terms:
            if term.field == field and term.operator == "=":
                return term.value
        return None

    def __str__(self) -> str:
        return ",".join(map(str, self.terms))


EVERYTHING = FieldSelector(())


def _split(text: str) -> list[str]:
    terms, start, escaped = [], 0, False
    for position, character in enumerate(text):
        if escaped:
            escaped = False
        elif character == "\\":
            escaped = True
        elif character == ",":
            terms.append(text[start:position])
            start = position + 1
    terms.append(text[start:])
    return terms


def _unescape(text: str) -> str:
    if not any(character in text for character in "\\,="):
        return text
    result, escaped = [], False
    for character in text:
        if escaped:
            if character not in "\\,=":
                raise SelectorError(f"invalid field selector: invalid escape sequence: \\{character}")
            result.append(character)
            escaped = False
        elif character == "\\":
            escaped = True
        elif character in ",=":
            # Go prints the rune as its number.
            raise SelectorError(f"invalid field selector: unescaped character in value: {ord(character)}")
        else:
            result.append(character)
    if escaped:
        raise SelectorError("invalid field selector: invalid escape sequence: \\")
    return "".join(result)


def _term(selector: str, part: str) -> Term:
    for position in range(len(part)):
        for operator in ("!=", "==", "="):
            if part.startswith(operator, position):
                value = _unescape(part[position + len(operator) :])
                return Term(part[:position], "!=" if operator == "!=" else "=", value)
    raise SelectorError(f"invalid selector: '{selector}'; can't understand '{part}'")


@lru_cache(maxsize=2048)
def parse(text: str) -> FieldSelector:
    """A `fieldSelector` query; which fields a kind supports is the kind's business. Raises SelectorError."""
    if not text:
        return EVERYTHING
    return FieldSelector(tuple(_term(text, part) for part in sorted(_split(text)) if part))
