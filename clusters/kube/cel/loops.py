"""Comprehensions as plain Python loops, one per macro, with the cost of cel-go's general fold."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from clusters.kube.cel.access import shown_key
from clusters.kube.cel.costs import LIST_COST
from clusters.kube.cel.errors import CostExceeded, EvaluationError, no_such_overload
from clusters.kube.cel.frames import CONSTANT, VALUE, Evaluate, Frame, Plan
from clusters.kube.cel.syntax import Comprehension
from clusters.kube.cel.values import ABSENT, find_key, type_of

if TYPE_CHECKING:
    from clusters.kube.cel.planner import Planner

_GO_NAMES = {
    "bool": "types.Bool", "int": "types.Int", "uint": "types.Uint", "double": "types.Double",
    "string": "types.String", "bytes": "types.Bytes", "null_type": "types.Null",
    "google.protobuf.Timestamp": "types.Timestamp", "google.protobuf.Duration": "types.Duration",
    "optional_type": "*types.Optional", "type": "*types.Type",
}  # fmt: skip


def _go_name(value: Any) -> str:
    name = type_of(value).name
    return _GO_NAMES.get(name, name)


def _one(value: Any) -> Iterable[Any]:
    """What a one-variable comprehension walks: elements, or keys."""
    if isinstance(value, (list, dict)):
        return value
    keys = getattr(value, "cel_keys", None)
    if keys is not None:
        return list(keys())
    raise EvaluationError(f"got '{_go_name(value)}', expected iterable type")


def _two(value: Any) -> Iterable[tuple[Any, Any]]:
    """What a two-variable comprehension walks: index and element, or key and value."""
    if isinstance(value, list):
        return enumerate(value)
    if isinstance(value, dict):
        return value.items()
    raise EvaluationError(f"unsupported comprehension range type: {_go_name(value)}")


def plan_loop(planner: Planner, node: Comprehension) -> Plan:
    if node.macro == "bind":
        return _bind(planner, node)
    range_ = planner.plan(node.range)
    first = planner.slot()
    names = {node.iter_var: first}
    second = first
    if node.iter_var2 is not None:
        second = names[node.iter_var2] = planner.slot()
    predicate = transform = None
    if node.parts[0] is not None:
        predicate = planner.scoped(names, node.parts[0])
    if len(node.parts) > 1:
        assert node.parts[1] is not None
        transform = planner.scoped(names, node.parts[1])
    walk = _walker(range_.evaluate, first, second, two=node.iter_var2 is not None)
    if node.macro in ("all", "exists"):
        assert predicate is not None
        return Plan(_quantifier(walk, predicate, stop=node.macro == "exists"), range_.cost + 1, VALUE)
    if node.macro == "exists_one":
        assert predicate is not None
        return Plan(_exists_one(walk, predicate), range_.cost + 2, VALUE)
    assert transform is not None
    if node.macro == "map":
        return Plan(_list_builder(walk, predicate, transform), range_.cost + 1, VALUE)
    entry = node.macro == "transformMapEntry"
    return Plan(_map_builder(walk, first, predicate, transform, entry), range_.cost + 1, VALUE)


def _walker(range_: Evaluate, first: int, second: int, two: bool) -> Any:
    """A generator function that sets the loop variables and yields once per element."""
    if two:

        def pairs(frame: Frame) -> Any:
            for frame[first], frame[second] in _two(range_(frame)):  # noqa: B020
                yield None

        return pairs

    def singles(frame: Frame) -> Any:
        for frame[first] in _one(range_(frame)):  # noqa: B020
            yield None

    return singles


def _quantifier(walk: Any, predicate: Plan, stop: bool) -> Evaluate:
    test = predicate.evaluate
    otherwise = not stop
    # The loop condition is @not_strictly_false(@result), for exists of !@result; the step reads @result.
    condition_cost = 3 if stop else 2
    step_cost = 1 + predicate.cost

    def quantify(frame: Frame) -> bool:
        error: EvaluationError | None = None
        decided = False
        for _ in walk(frame):
            frame[0] += condition_cost
            if decided:
                break
            frame[0] += step_cost
            if frame[0] > frame[1]:
                raise CostExceeded
            try:
                value = test(frame)
                if value is stop:
                    decided = True
                elif value is not otherwise and error is None:
                    error = no_such_overload()
            except CostExceeded:
                raise
            except EvaluationError as caught:
                error = error or caught
        if decided:
            return stop
        if error is not None:
            raise error
        return otherwise

    return quantify


def _exists_one(walk: Any, predicate: Plan) -> Evaluate:
    test, cost = predicate.evaluate, predicate.cost

    def exactly_one(frame: Frame) -> bool:
        count = 0
        for _ in walk(frame):
            frame[0] += cost
            value = test(frame)
            if value is True:
                count += 1
                frame[0] += 2
            elif value is not False:
                raise no_such_overload()
            if frame[0] > frame[1]:
                raise CostExceeded
        return count == 1

    return exactly_one


def _list_builder(walk: Any, predicate: Plan | None, transform: Plan) -> Evaluate:
    make = transform.evaluate
    # @result + [transform]: the variable, the new list (free when it is constant), the addition.
    made_cost = transform.cost + 1 + (0 if transform.kind == CONSTANT else LIST_COST) + 1

    def build(frame: Frame) -> list[Any]:
        out: list[Any] = []
        for _ in walk(frame):
            frame[0] += made_cost
            if frame[0] > frame[1]:
                raise CostExceeded
            out.append(make(frame))
        return out

    if predicate is None:
        return build
    test, test_cost = predicate.evaluate, predicate.cost

    def build_filtered(frame: Frame) -> list[Any]:
        out: list[Any] = []
        for _ in walk(frame):
            frame[0] += test_cost
            value = test(frame)
            if value is True:
                frame[0] += made_cost
                out.append(make(frame))
            elif value is not False:
                raise no_such_overload()
            if frame[0] > frame[1]:
                raise CostExceeded
        return out

    return build_filtered


def _map_builder(walk: Any, key_slot: int, predicate: Plan | None, transform: Plan, entry: bool) -> Evaluate:
    make = transform.evaluate
    made_cost = transform.cost + (2 if entry else 3)
    test = predicate.evaluate if predicate is not None else None
    test_cost = predicate.cost if predicate is not None else 0

    def build(frame: Frame) -> dict[Any, Any]:
        out: dict[Any, Any] = {}
        for _ in walk(frame):
            frame[0] += test_cost
            if test is not None:
                value = test(frame)
                if value is False:
                    continue
                if value is not True:
                    raise no_such_overload()
            frame[0] += made_cost
            if frame[0] > frame[1]:
                raise CostExceeded
            made = make(frame)
            if not entry:
                made = {frame[key_slot]: made}
            elif not isinstance(made, dict):
                raise no_such_overload()
            for key, item in made.items():
                if find_key(out, key) is not ABSENT:
                    raise EvaluationError(f"insert failed: key {shown_key(key)} already exists")
                out[key] = item
        return out

    return build


def _bind(planner: Planner, node: Comprehension) -> Plan:
    """optMap and optFlatMap: the result with a name for the value."""
    value = planner.plan(node.accu)
    slot = planner.slot()
    result = planner.scoped({node.accu_var: slot}, node.result)
    inner, body = value.evaluate, result.evaluate

    def bound(frame: Frame) -> Any:
        frame[slot] = inner(frame)
        return body(frame)

    return Plan(bound, value.cost + result.cost, VALUE)
