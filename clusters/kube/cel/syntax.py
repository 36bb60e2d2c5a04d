"""The abstract syntax tree: what the parser makes, the checker annotates and the planner turns into closures."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from clusters.kube.cel.types import Type


class Node:
    """An expression at ``offset`` (in code points); ``type`` is set by the checker."""

    __slots__ = ("offset", "type")

    def __init__(self, offset: int) -> None:
        self.offset = offset
        self.type: Type | None = None


class Literal(Node):
    __slots__ = ("value",)

    def __init__(self, offset: int, value: object) -> None:
        super().__init__(offset)
        self.value = value


class Ident(Node):
    """A variable; ``constant`` is the type value when the name turns out to be a type."""

    __slots__ = ("constant", "name")

    def __init__(self, offset: int, name: str) -> None:
        super().__init__(offset)
        self.name = name
        self.constant: Type | None = None


class Select(Node):
    """``operand.field``, or ``has(operand.field)`` when ``test_only``."""

    __slots__ = ("field", "operand", "qualified", "test_only")

    def __init__(self, offset: int, operand: Node, field: str, test_only: bool = False) -> None:
        super().__init__(offset)
        self.operand = operand
        self.field = field
        self.test_only = test_only
        # Set by the checker when `a.b` is the name of one variable or type.
        self.qualified: Ident | None = None


class Call(Node):
    """A function call; ``overloads`` are the ids the checker found possible."""

    __slots__ = ("args", "function", "overloads", "target")

    def __init__(self, offset: int, function: str, args: list[Node], target: Node | None = None) -> None:
        super().__init__(offset)
        self.function = function
        self.target = target
        self.args = args
        self.overloads: tuple[str, ...] = ()


class ListExpr(Node):
    __slots__ = ("elements", "optional")

    def __init__(self, offset: int, elements: list[Node], optional: frozenset[int] = frozenset()) -> None:
        super().__init__(offset)
        self.elements = elements
        self.optional = optional


class Entry:
    """One ``key: value`` of a map (key is a node) or a message (key is a field name)."""

    __slots__ = ("key", "offset", "optional", "value")

    def __init__(self, offset: int, key: Node | str, value: Node, optional: bool) -> None:
        self.offset = offset
        self.key = key
        self.value = value
        self.optional = optional


class MapExpr(Node):
    __slots__ = ("entries",)

    def __init__(self, offset: int, entries: list[Entry]) -> None:
        super().__init__(offset)
        self.entries = entries


class StructExpr(Node):
    __slots__ = ("fields", "name")

    def __init__(self, offset: int, name: str, fields: list[Entry]) -> None:
        super().__init__(offset)
        self.name = name
        self.fields = fields


class Comprehension(Node):
    """A fold in its general form, which the checker reads; ``macro`` says which macro it came from.

    The planner does not run the general form: it builds a loop for the macro from ``parts``
    (predicate, transform, ...), so that a ``map`` is one list append per element.
    """

    __slots__ = ("accu", "accu_var", "condition", "iter_var", "iter_var2", "macro", "parts", "range", "result", "step")

    def __init__(
        self,
        offset: int,
        macro: str,
        range_: Node,
        iter_var: str,
        iter_var2: str | None,
        accu_var: str,
        accu: Node,
        condition: Node,
        step: Node,
        result: Node,
        parts: tuple[Node | None, ...],
    ) -> None:
        super().__init__(offset)
        self.macro = macro
        self.range = range_
        self.iter_var = iter_var
        self.iter_var2 = iter_var2
        self.accu_var = accu_var
        self.accu = accu
        self.condition = condition
        self.step = step
        self.result = result
        self.parts = parts
