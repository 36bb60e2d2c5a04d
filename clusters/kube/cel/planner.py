"""From a checked tree to closures over a frame, with the cost of every step.

A frame is a list: ``[cost so far, cost limit, variable, variable, ...]``; every variable of the program,
bound by the caller or by a loop, has a fixed slot. ``Plan.cost`` is what the step always costs, which
the enclosing step adds once, so that a straight-line expression counts nothing while it runs; only
branches, loops and functions whose cost depends on sizes add to the frame.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from clusters.kube.cel import calls, loops
from clusters.kube.cel.access import check_qualifier, optional_index, present, select, shown_key
from clusters.kube.cel.access import index as index_value
from clusters.kube.cel.costs import LIST_COST, MAP_COST, STRUCT_COST
from clusters.kube.cel.declarations import Library
from clusters.kube.cel.errors import CostExceeded, EvaluationError, InstantiationError, no_such_overload
from clusters.kube.cel.frames import ATTRIBUTE, CONDITIONAL, CONSTANT, FIRST_SLOT, VALUE, Evaluate, Frame, Plan
from clusters.kube.cel.regex import compile_re2
from clusters.kube.cel.syntax import Call, Comprehension, Ident, ListExpr, Literal, MapExpr, Node, Select, StructExpr
from clusters.kube.cel.types import Type
from clusters.kube.cel.values import ABSENT, NONE, Optional, type_of

_CONVERSIONS = frozenset({"bool", "bytes", "double", "duration", "dyn", "int", "string", "timestamp", "type", "uint"})

# Constants that can be no key, by the name of their Go type.
_UNFIT_KEYS = {bytes: "types.Bytes", list: "*types.baseList", dict: "*types.baseMap", type(None): "types.Null"}


class Planner:
    """Plans one program; ``slots`` says where each free variable is expected in the frame."""

    def __init__(
        self,
        library: Library,
        final: Callable[[Node], Type],
        construct: Callable[[str], Callable[[dict[str, Any]], Any]],
    ) -> None:
        self.library = library
        self.final = final
        self.construct = construct
        self.slots: dict[str, int] = {}
        self.size = FIRST_SLOT
        self._scopes: list[Mapping[str, int]] = []
        self._rules: dict[type, Callable[[Any], Plan]] = {
            Literal: self._literal,
            Ident: self._ident,
            Select: self._select,
            Call: self._call,
            ListExpr: self._list,
            MapExpr: self._map,
            StructExpr: self._struct,
            Comprehension: self._comprehension,
        }

    def plan(self, node: Node) -> Plan:
        return self._rules[type(node)](node)

    def slot(self) -> int:
        self.size += 1
        return self.size - 1

    def scoped(self, names: Mapping[str, int], node: Node) -> Plan:
        """``node`` planned where ``names`` are bound."""
        self._scopes.append(names)
        try:
            return self.plan(node)
        finally:
            self._scopes.pop()

    def _literal(self, node: Literal) -> Plan:
        return Plan.constant(node.value)

    def _ident(self, node: Ident) -> Plan:
        if node.constant is not None:
            return Plan.constant(node.constant)
        name = node.name
        for scope in reversed(self._scopes):
            if name in scope:
                return _loop_variable(scope[name])
        slot = self.slots.get(name, -1)
        if slot < 0:
            slot = self.slots[name] = self.slot()
        message = f"no such attribute(s): {name}"

        def variable(frame: Frame) -> Any:
            value = frame[slot]
            if value is ABSENT:
                raise EvaluationError(message)
            return value

        return Plan(variable, 1, ATTRIBUTE, chain=(slot, (), True))

    def _select(self, node: Select) -> Plan:
        if node.qualified is not None:
            return self._ident(node.qualified)
        operand = self.plan(node.operand)
        field = self._json_name(node.operand, node.field)
        cost = operand.cost + (1 if operand.kind in (ATTRIBUTE, CONDITIONAL) else 2)
        inner = operand.evaluate
        if node.test_only:

            def has(frame: Frame) -> bool:
                return present(inner(frame), field)

            return Plan(has, cost - (operand.kind != CONDITIONAL), VALUE)
        if self.final(node.operand).name == "optional_type":

            def from_optional(frame: Frame) -> Any:
                found = optional_index(inner(frame), field)
                if found is not NONE:
                    frame[0] += 1
                return found

            return Plan(from_optional, cost - 1, operand.kind if operand.kind == CONDITIONAL else ATTRIBUTE)
        if operand.chain is not None:
            slot, fields, checked = operand.chain
            fields = (*fields, field)
            name = next((each for each, at in self.slots.items() if at == slot), "") if checked else ""
            return Plan(_chain(slot, fields, name), cost, ATTRIBUTE, chain=(slot, fields, checked))

        def selected(frame: Frame) -> Any:
            value = inner(frame)
            if type(value) is dict and field in value:
                return value[field]
            return select(value, field)

        return Plan(selected, cost, CONDITIONAL if operand.kind == CONDITIONAL else ATTRIBUTE)

    def _json_name(self, operand: Node, field: str) -> str:
        """The property behind an escaped field name, where the object type is known."""
        type_ = self.final(operand)
        if type_.name == "optional_type" and type_.params:
            type_ = type_.params[0]
        if type_.fields:
            found = type_.fields.get(field) or type_.fields.get(f"__{field}__")
            if found is not None:
                return found[1]
        return field

    def _call(self, node: Call) -> Plan:
        function = node.function
        if function == "_&&_" or function == "_||_":
            return self._logical(node, stop=function == "_||_")
        if function == "_?_:_":
            return self._conditional(node)
        if function in ("_[_]", "_[?_]", "_?._"):
            return self._index(node)
        operands = [node.target, *node.args] if node.target is not None else node.args
        args = [self.plan(each) for each in operands if each is not None]
        if function == "or" or function == "orValue":
            return self._optional_or(args[0], args[1], unwrap=function == "orValue")
        if function in ("matches", "find", "findAll") and args[1].kind == CONSTANT and type(args[1].value) is str:
            try:
                compile_re2(args[1].value)
            except EvaluationError as error:
                raise InstantiationError(str(error)) from error
        types = [self.final(each) for each in operands if each is not None]
        plan = calls.plan_call(self.library, node, args, types)
        if function in _CONVERSIONS and len(args) == 1 and args[0].kind == CONSTANT:
            try:
                return Plan.constant(plan.evaluate([0, float("inf")]))
            except EvaluationError as error:
                raise InstantiationError(str(error)) from error
        return plan

    def _logical(self, node: Call, stop: bool) -> Plan:
        plans = [self.plan(each) for each in node.args]
        first, first_cost = plans[0].evaluate, plans[0].cost
        rest = tuple((plan.evaluate, plan.cost) for plan in plans[1:])
        otherwise = not stop
        if len(rest) == 1:
            second, second_cost = rest[0]

            def pair(frame: Frame) -> Any:
                error: EvaluationError | None = None
                try:
                    value = first(frame)
                    if value is stop:
                        return stop
                    if value is not otherwise:
                        error = no_such_overload()
                except CostExceeded:
                    raise
                except EvaluationError as caught:
                    error = caught
                frame[0] += second_cost
                try:
                    value = second(frame)
                    if value is stop:
                        return stop
                    if value is not otherwise and error is None:
                        error = no_such_overload()
                except CostExceeded:
                    raise
                except EvaluationError as caught:
                    error = error or caught
                if error is not None:
                    raise error
                return otherwise

            return Plan(pair, first_cost, VALUE)
        terms = ((first, 0), *rest)

        def chain(frame: Frame) -> Any:
            error: EvaluationError | None = None
            for term, cost in terms:
                frame[0] += cost
                try:
                    value = term(frame)
                    if value is stop:
                        return stop
                    if value is not otherwise and error is None:
                        error = no_such_overload()
                except CostExceeded:
                    raise
                except EvaluationError as caught:
                    error = error or caught
            if error is not None:
                raise error
            return otherwise

        return Plan(chain, first_cost, VALUE)

    def _conditional(self, node: Call) -> Plan:
        condition, yes, no = (self.plan(each) for each in node.args)
        test, then, otherwise = condition.evaluate, yes.evaluate, no.evaluate
        yes_cost = yes.cost - (yes.kind == ATTRIBUTE)
        no_cost = no.cost - (no.kind == ATTRIBUTE)

        def choose(frame: Frame) -> Any:
            value = test(frame)
            if value is True:
                frame[0] += yes_cost
                return then(frame)
            if value is False:
                frame[0] += no_cost
                return otherwise(frame)
            raise no_such_overload()

        return Plan(choose, condition.cost, CONDITIONAL)

    def _index(self, node: Call) -> Plan:
        operand = self.plan(node.args[0])
        optional = node.function != "_[_]" or self.final(node.args[0]).name == "optional_type"
        inner = operand.evaluate
        cost = operand.cost + (operand.kind not in (ATTRIBUTE, CONDITIONAL))
        kind = CONDITIONAL if operand.kind == CONDITIONAL else ATTRIBUTE
        if node.function == "_?._":
            literal = node.args[1]
            assert isinstance(literal, Literal)
            assert isinstance(literal.value, str)
            key = Plan.constant(self._json_name(node.args[0], literal.value))
        else:
            key = self.plan(node.args[1])
        at = key.evaluate
        cost += key.cost - (key.kind == ATTRIBUTE)
        if optional:

            def maybe(frame: Frame) -> Any:
                found = optional_index(inner(frame), at(frame))
                if found is not NONE:
                    frame[0] += 1
                return found

            return Plan(maybe, cost, kind)
        if key.kind == CONSTANT and type(key.value) is str:
            constant = key.value
            message = f"no such key: {shown_key(constant)}"

            def keyed(frame: Frame) -> Any:
                value = inner(frame)
                if type(value) is dict:
                    try:
                        return value[constant]
                    except KeyError:
                        raise EvaluationError(message) from None
                return index_value(value, constant)

            return Plan(keyed, cost + 1, kind)

        if key.kind == CONSTANT:
            go_type = _UNFIT_KEYS.get(type(key.value))
            if go_type is not None:
                raise InstantiationError(f"invalid qualifier type: {go_type}")
        from_variable = key.kind == ATTRIBUTE

        def indexed(frame: Frame) -> Any:
            value = inner(frame)
            key = at(frame)
            if type(key) is int and type(value) is list and 0 <= key < len(value):
                return value[key]
            if from_variable:
                check_qualifier(key)
            return index_value(value, key)

        return Plan(indexed, cost + 1, kind)

    def _optional_or(self, left: Plan, right: Plan, unwrap: bool) -> Plan:
        first, second, cost = left.evaluate, right.evaluate, right.cost

        def either(frame: Frame) -> Any:
            value = first(frame)
            if type(value) is not Optional:
                return value
            if value is not NONE:
                return value.value if unwrap else value
            frame[0] += cost
            return second(frame)

        return Plan(either, left.cost, VALUE)

    def _list(self, node: ListExpr) -> Plan:
        plans = [self.plan(each) for each in node.elements]
        if not node.optional and all(plan.kind == CONSTANT for plan in plans):
            return Plan.constant([plan.value for plan in plans])
        elements = tuple((plan.evaluate, index in node.optional) for index, plan in enumerate(plans))
        cost = LIST_COST + sum(plan.cost for plan in plans)
        evaluations = tuple(plan.evaluate for plan in plans)

        def build(frame: Frame) -> list[Any]:
            return [element(frame) for element in evaluations]

        def build_optional(frame: Frame) -> list[Any]:
            out = []
            for element, optional in elements:
                value = element(frame)
                if optional:
                    if type(value) is not Optional:
                        raise EvaluationError(
                            f"cannot initialize optional list element from non-optional value {shown_key(value)}"
                        )
                    if value is NONE:
                        continue
                    value = value.value
                out.append(value)
            return out

        return Plan(build_optional if node.optional else build, cost, VALUE)

    def _entries(self, entries: list[Any]) -> tuple[tuple[tuple[Evaluate, Evaluate, bool], ...], int, bool]:
        """(key, value, optional) of each entry, their cost, and whether all of it is constant."""
        rows = []
        cost = 0
        constant = True
        for entry in entries:
            key = Plan.constant(entry.key) if isinstance(entry.key, str) else self.plan(entry.key)
            value = self.plan(entry.value)
            cost += key.cost + value.cost
            constant &= key.kind == CONSTANT and value.kind == CONSTANT and not entry.optional
            constant &= type(key.value) not in (list, dict)
            rows.append((key.evaluate, value.evaluate, entry.optional))
        return tuple(rows), cost, constant

    def _map(self, node: MapExpr) -> Plan:
        rows, cost, constant = self._entries(node.entries)
        build = _builder(rows)
        if constant:
            return Plan.constant(build([0, float("inf")]))
        return Plan(build, cost + MAP_COST, VALUE)

    def _struct(self, node: StructExpr) -> Plan:
        rows, cost, _ = self._entries(node.fields)
        build = _builder(rows)
        construct = self.construct(node.name)
        return Plan(lambda frame: construct(build(frame)), cost + STRUCT_COST, VALUE)

    def _comprehension(self, node: Comprehension) -> Plan:
        return loops.plan_loop(self, node)


def _loop_variable(slot: int) -> Plan:
    return Plan(lambda frame: frame[slot], 1, ATTRIBUTE, chain=(slot, (), False))


def _chain(slot: int, fields: tuple[str, ...], name: str) -> Evaluate:
    """``variable.a.b.c`` in one closure."""
    if len(fields) == 1:
        (field,) = fields

        def one(frame: Frame) -> Any:
            value = frame[slot]
            if type(value) is dict:
                try:
                    return value[field]
                except KeyError:
                    raise EvaluationError(f"no such key: {field}") from None
            if value is ABSENT:
                raise EvaluationError(f"no such attribute(s): {name}")
            return select(value, field)

        return one

    def several(frame: Frame) -> Any:
        value = frame[slot]
        for field in fields:
            if type(value) is dict:
                if field in value:
                    value = value[field]
                    continue
                raise EvaluationError(f"no such key: {field}")
            if value is ABSENT:
                raise EvaluationError(f"no such attribute(s): {name}")
            value = select(value, field)
        return value

    return several


def _builder(rows: tuple[tuple[Evaluate, Evaluate, bool], ...]) -> Callable[[Frame], dict[Any, Any]]:
    def build(frame: Frame) -> dict[Any, Any]:
        out: dict[Any, Any] = {}
        for key, value, optional in rows:
            name = key(frame)
            item = value(frame)
            if optional:
                if type(item) is not Optional:
                    raise EvaluationError(
                        f"cannot initialize optional entry '{shown_key(name)}' from non-optional value"
                        f" {shown_key(item)}"
                    )
                if item is NONE:
                    out.pop(name, None)
                    continue
                item = item.value
            try:
                out[name] = item
            except TypeError:
                raise EvaluationError(f"unsupported key type: {type_of(name)}") from None
        return out

    return build
