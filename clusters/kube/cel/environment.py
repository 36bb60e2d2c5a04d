"""An environment declares variables; it compiles expressions to programs that can be run many times."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any

from clusters.kube.cel import library
from clusters.kube.cel import types as t
from clusters.kube.cel.checker import Checker
from clusters.kube.cel.declarations import Library
from clusters.kube.cel.errors import CompileError, CostExceeded, Issue, ResultTypeError, render
from clusters.kube.cel.frames import Evaluate, Frame
from clusters.kube.cel.parser import parse
from clusters.kube.cel.planner import Planner
from clusters.kube.cel.syntax import Node
from clusters.kube.cel.types import Type
from clusters.kube.cel.validators import validate
from clusters.kube.cel.values import ABSENT

# Kubernetes' limit for one evaluation of one expression.
PER_CALL_LIMIT = 1_000_000

Binder = Callable[[Any], Any]


class Budget:
    """The cost that a sequence of evaluations may use, e.g. all rules of one object.

    A program stops at the per-call limit; ``remaining`` below zero is for the caller to look at.
    """

    __slots__ = ("last", "per_call", "remaining", "spent")

    def __init__(self, total: int = 10_000_000, per_call: int = PER_CALL_LIMIT) -> None:
        self.remaining = total
        self.per_call = per_call
        self.spent = 0
        self.last = 0

    def charge(self, cost: int) -> None:
        self.last = cost
        self.spent += cost
        self.remaining -= cost

    @property
    def exhausted(self) -> bool:
        return self.remaining < 0


class Program:
    """A compiled expression; ``type`` is what it evaluates to, ``references`` the variables it names."""

    __slots__ = ("_cost", "_evaluate", "_inputs", "_pad", "final", "references", "text", "tree", "type")

    def __init__(
        self, text: str, tree: Node, type_: Type, references: frozenset[str], planner: Planner,
        binders: Mapping[str, Binder],
    ) -> None:  # fmt: skip
        plan = planner.plan(tree)
        self.text = text
        self.tree = tree
        self.type = type_
        self.references = references
        self.final = planner.final
        self._evaluate: Evaluate = plan.evaluate
        self._cost = plan.cost
        inputs = sorted(planner.slots.items(), key=lambda item: item[1])
        # Slots of inputs and of loops are handed out as they are met: place each by its number.
        self._inputs = tuple((name, slot, binders.get(name)) for name, slot in inputs)
        self._pad = [None] * (planner.size - 2)

    def evaluate(self, bindings: Mapping[str, Any], budget: Budget | None = None) -> Any:
        """The value; raises EvaluationError, or CostExceeded when the per-call limit is passed."""
        limit = PER_CALL_LIMIT if budget is None else budget.per_call
        frame: Frame = [self._cost, limit, *self._pad]
        for name, slot, bind in self._inputs:
            value = bindings.get(name, ABSENT)
            frame[slot] = value if bind is None or value is ABSENT else bind(value)
        if budget is None:
            value = self._evaluate(frame)
            if frame[0] > limit:
                raise CostExceeded
            return value
        try:
            value = self._evaluate(frame)
            if frame[0] > limit:
                raise CostExceeded
            return value
        finally:
            budget.charge(frame[0])


class Environment:
    """Variables and libraries. ``patch_types`` adds JSONPatch{} and Object{} for mutating policies.

    A variable may be declared as ``authorizer.requestResource``: a dotted name wins over selection.
    """

    def __init__(
        self,
        variables: Mapping[str, Type],
        *,
        patch_types: bool = False,
        binders: Mapping[str, Binder] | None = None,
    ) -> None:
        self.variables = dict(variables)
        self.patch_types = patch_types
        self._binders = dict(binders or {})
        self._library = patch_library() if patch_types else base_library()

    def extend(self, variables: Mapping[str, Type], binders: Mapping[str, Binder] | None = None) -> Environment:
        """The same environment with more variables."""
        return Environment(
            {**self.variables, **variables},
            patch_types=self.patch_types,
            binders={**self._binders, **(binders or {})},
        )

    def compile(self, text: str, expect: Type | Sequence[Type] = t.ANY) -> Program:
        """The program, or CompileError (``str`` is cel-go's text, ``detail`` Kubernetes' sentence)."""
        try:
            return self._compile(text, expect)
        except RecursionError:
            # Nested deeper than Python goes, which is less deep than the 250 of cel-go.
            limit = Issue(-1, "expression recursion limit exceeded: 250")
            raise CompileError(render(text, [limit]), [limit]) from None

    def _compile(self, text: str, expect: Type | Sequence[Type]) -> Program:
        tree = parse(text)
        checker = Checker(self._library, self.variables)
        result = checker.check(tree)
        if not checker.issues:
            checker.issues.extend(validate(tree, checker.final))
        if checker.issues:
            raise CompileError(render(text, checker.issues), checker.issues)
        result = checker.subs.apply(result, dyn=True)
        wanted = (expect,) if isinstance(expect, Type) else tuple(expect)
        if not any(each is t.ANY or each.same(result) for each in wanted):
            raise ResultTypeError([str(each) for each in wanted], str(result))
        planner = Planner(self._library, checker.final, _constructor)
        return Program(text, tree, result, frozenset(checker.references), planner, self._binders)


def _constructor(name: str) -> Callable[[dict[str, Any]], Any]:
    from clusters.kube.cel.library.mutation import constructor

    return constructor(name)


_TYPES = {**t.STANDARD_TYPES, t.IP.name: t.type_of_type(t.IP), t.CIDR.name: t.type_of_type(t.CIDR)}


@lru_cache(maxsize=1)
def base_library() -> Library:
    """The functions of the Kubernetes 1.36 base environment."""
    return Library(library.rows, _TYPES)


@lru_cache(maxsize=1)
def patch_library() -> Library:
    """The base environment plus what mutating policies may construct."""
    from clusters.kube.cel.library import mutation

    return Library(lambda name: mutation.FUNCTIONS.get(name) or library.rows(name), _TYPES, mutation.resolve_type)
