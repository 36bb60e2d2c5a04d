"""Macros: calls that the parser rewrites (has, all, exists, map, filter, optMap, ...).

Each comprehension keeps cel-go's general form for the checker, whose messages come from it, and the
plain parts for the planner.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import copy

from clusters.kube.cel.syntax import Call, Comprehension, Ident, ListExpr, Literal, MapExpr, Node, Select, StructExpr

ACCU = "@result"
_SORTED = "@__sortBy_input__"
_FORBIDDEN = frozenset({ACCU, "__result__"})


class MacroError(ValueError):
    """The call looks like a macro but its arguments are not well-formed."""

    def __init__(self, offset: int, message: str) -> None:
        super().__init__(message)
        self.offset = offset


def expand(offset: int, function: str, target: Node | None, args: list[Node]) -> Node | None:
    """The rewritten call, or None when it is an ordinary call."""
    if target is None:
        if function == "has" and len(args) == 1:
            operand = args[0]
            if not isinstance(operand, Select):
                raise MacroError(operand.offset, "invalid argument to has() macro")
            return Select(offset, operand.operand, operand.field, test_only=True)
        return None
    expander = _RECEIVER.get((function, len(args)))
    return expander(offset, function, target, args) if expander is not None else None


def _variable(node: Node, message: str) -> str:
    if not isinstance(node, Ident):
        raise MacroError(node.offset, message)
    if node.name in _FORBIDDEN:
        raise MacroError(node.offset, "iteration variable overwrites accumulator variable")
    return node.name


def _two_variables(first: Node, second: Node) -> tuple[str, str]:
    for node in (first, second):
        if not isinstance(node, Ident):
            raise MacroError(node.offset, "argument must be a simple name")
    assert isinstance(first, Ident)
    assert isinstance(second, Ident)
    if first.name == second.name:
        raise MacroError(second.offset, f"duplicate variable name: {first.name}")
    for node in (first, second):
        if node.name in _FORBIDDEN:
            raise MacroError(node.offset, "iteration variable overwrites accumulator variable")
    return first.name, second.name


def _quantifier(offset: int, function: str, target: Node, args: list[Node]) -> Node:
    variable2: str | None = None
    if len(args) == 3:
        variable, variable2 = _two_variables(args[0], args[1])
    else:
        variable = _variable(args[0], "argument must be a simple name")
    predicate = args[-1]

    def accu() -> Node:
        return Ident(offset, ACCU)

    if function == "all":
        init: Node = Literal(offset, True)
        condition: Node = Call(offset, "@not_strictly_false", [accu()])
        step: Node = Call(offset, "_&&_", [accu(), predicate])
        result = accu()
    elif function == "exists":
        init = Literal(offset, False)
        condition = Call(offset, "@not_strictly_false", [Call(offset, "!_", [accu()])])
        step = Call(offset, "_||_", [accu(), predicate])
        result = accu()
    else:
        function = "exists_one"
        init = Literal(offset, 0)
        condition = Literal(offset, True)
        more = Call(offset, "_+_", [accu(), Literal(offset, 1)])
        step = Call(offset, "_?_:_", [predicate, more, accu()])
        result = Call(offset, "_==_", [accu(), Literal(offset, 1)])
    return Comprehension(
        offset, function, target, variable, variable2, ACCU, init, condition, step, result, (predicate,)
    )


def _list_builder(offset: int, function: str, target: Node, args: list[Node]) -> Node:
    """map, filter and transformList: they all append to a list."""
    variable2: str | None = None
    predicate: Node | None
    if function == "transformList":
        variable, variable2 = _two_variables(args[0], args[1])
        predicate, transform = (args[2] if len(args) == 4 else None), args[-1]
    else:
        variable = _variable(args[0], "argument is not an identifier")
        if function == "filter":
            predicate, transform = args[1], Ident(args[0].offset, variable)
        else:
            predicate, transform = (args[1] if len(args) == 3 else None), args[-1]
    added = Call(offset, "_+_", [Ident(offset, ACCU), ListExpr(offset, [transform])])
    step: Node = added
    if predicate is not None:
        step = Call(offset, "_?_:_", [predicate, added, Ident(offset, ACCU)])
    return Comprehension(
        offset, "map", target, variable, variable2, ACCU, ListExpr(offset, []), Literal(offset, True), step,
        Ident(offset, ACCU), (predicate, transform),
    )  # fmt: skip


def _map_builder(offset: int, function: str, target: Node, args: list[Node]) -> Node:
    variable, variable2 = _two_variables(args[0], args[1])
    predicate, transform = (args[2] if len(args) == 4 else None), args[-1]
    inserted = [Ident(offset, ACCU), Ident(offset, variable), transform]
    if function == "transformMapEntry":
        del inserted[1]
    added = Call(offset, "cel.@mapInsert", inserted)
    step: Node = added
    if predicate is not None:
        step = Call(offset, "_?_:_", [predicate, added, Ident(offset, ACCU)])
    return Comprehension(
        offset, function, target, variable, variable2, ACCU, MapExpr(offset, []), Literal(offset, True), step,
        Ident(offset, ACCU), (predicate, transform),
    )  # fmt: skip


def _optional_map(offset: int, function: str, target: Node, args: list[Node]) -> Node:
    if not isinstance(args[0], Ident):
        raise MacroError(args[0].offset, f"{function}() variable name must be a simple identifier")
    name = args[0].name
    value = Call(offset, "value", [], _copy(target))
    bound: Node = Comprehension(
        offset, "bind", ListExpr(offset, []), "#unused", None, name, value, Literal(offset, False),
        Ident(offset, name), args[1], (args[1],),
    )  # fmt: skip
    if function == "optMap":
        bound = Call(offset, "optional.of", [bound])
    none = Call(offset, "optional.none", [])
    return Call(offset, "_?_:_", [Call(offset, "hasValue", [], target), bound, none])


def _sort_by(offset: int, function: str, target: Node, args: list[Node]) -> Node:
    if isinstance(target, (Literal, MapExpr, StructExpr)):
        raise MacroError(
            target.offset, "sortBy can only be applied to a list, identifier, comprehension, call or select expression"
        )
    keys = _list_builder(offset, "map", Ident(offset, _SORTED), args)
    call = Call(offset, "@sortByAssociatedKeys", [keys], Ident(offset, _SORTED))
    return Comprehension(
        offset, "bind", ListExpr(offset, []), "#unused", None, _SORTED, target, Literal(offset, False),
        Ident(offset, _SORTED), call, (call,),
    )  # fmt: skip


def _copy(node: Node) -> Node:
    """A second tree of the same shape: the checker writes types and names into nodes."""
    twin = copy(node)
    for name in _slots(type(node)):
        child = getattr(twin, name, None)
        if isinstance(child, Node):
            setattr(twin, name, _copy(child))
        elif isinstance(child, list):
            setattr(twin, name, [_copy_item(item) for item in child])
        elif isinstance(child, tuple) and any(isinstance(item, Node) for item in child):
            # The parts of a comprehension are nodes of its general form: keep that identity.
            continue
    if isinstance(twin, Comprehension) and isinstance(node, Comprehension):
        return _copy_comprehension(node, twin)
    return twin


def _copy_comprehension(node: Comprehension, twin: Comprehension) -> Node:
    if node.macro in ("all", "exists", "exists_one"):
        args: list[Node] = [_copy(part) for part in node.parts if part is not None]
        names = [node.iter_var] if node.iter_var2 is None else [node.iter_var, node.iter_var2]
        idents: list[Node] = [Ident(node.offset, name) for name in names]
        return _quantifier(node.offset, node.macro, twin.range, idents + args)
    if node.macro == "bind":
        twin.parts = (twin.result,)
        return twin
    predicate, transform = node.parts
    assert transform is not None
    tail = [_copy(part) for part in (predicate, transform) if part is not None]
    head: list[Node] = [Ident(node.offset, node.iter_var)]
    if node.iter_var2 is not None:
        head.append(Ident(node.offset, node.iter_var2))
    if node.macro == "map":
        return _list_builder(node.offset, "map" if len(head) == 1 else "transformList", twin.range, head + tail)
    return _map_builder(node.offset, node.macro, twin.range, head + tail)


def _copy_item(item: object) -> object:
    if isinstance(item, Node):
        return _copy(item)
    if hasattr(item, "value") and hasattr(item, "key"):
        twin = copy(item)
        twin.value = _copy(item.value)
        if isinstance(item.key, Node):
            twin.key = _copy(item.key)
        return twin
    return item


def _slots(kind: type) -> list[str]:
    return [name for each in kind.__mro__ for name in getattr(each, "__slots__", ()) if name != "type"]


_Expander = Callable[[int, str, Node, list[Node]], Node]
_RECEIVER: dict[tuple[str, int], _Expander] = {
    ("all", 2): _quantifier,
    ("all", 3): _quantifier,
    ("exists", 2): _quantifier,
    ("exists", 3): _quantifier,
    ("exists_one", 2): _quantifier,
    ("exists_one", 3): _quantifier,
    ("existsOne", 2): _quantifier,
    ("existsOne", 3): _quantifier,
    ("map", 2): _list_builder,
    ("map", 3): _list_builder,
    ("filter", 2): _list_builder,
    ("transformList", 3): _list_builder,
    ("transformList", 4): _list_builder,
    ("transformMap", 3): _map_builder,
    ("transformMap", 4): _map_builder,
    ("transformMapEntry", 3): _map_builder,
    ("transformMapEntry", 4): _map_builder,
    ("sortBy", 2): _sort_by,
    ("optMap", 2): _optional_map,
    ("optFlatMap", 2): _optional_map,
}
