"""`x-kubernetes-validations`: CEL rules at any place of a schema, with one cost budget for the whole object."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any

from clusters.emulated.apiserver.customresources.correlation import Correlation, composite_key, keyed
from clusters.emulated.apiserver.customresources.openapi import NO_PATH
from clusters.emulated.apiserver.customresources.structural import Structural
from clusters.emulated.apiserver.validation.apiextensions.fieldpath import FieldPathError, resolve
from clusters.kube.field import (
    OMIT_VALUE,
    FieldError,
    child,
    duplicate,
    forbidden,
    index,
    invalid,
    key,
    required,
)
from clusters.kube.gostring import quote

if TYPE_CHECKING:
    from clusters.kube.cel import Budget, Program

OBJECT_BUDGET = 10_000_000
MESSAGE_BYTES_MAX = 5 * 1024
_OUT_OF_BUDGET = "validation failed due to running out of cost budget, no further validation rules will be run"

#: How the value at hand and the nearest value above it that has a past relate to the old object.
Past = tuple[Correlation | None, Correlation | None]


class _OutOfBudget(Exception):
    """No further rules are run; the error that says so is reported already."""


class _Rule:
    """One rule, compiled."""

    __slots__ = ("field_path", "message", "message_text", "optional", "program", "reason", "text", "uses_old_self")

    def __init__(self, rule: dict[str, Any], schema: Structural, root: bool) -> None:
        from clusters.kube.cel import CompileError
        from clusters.kube.cel.schema import rule_environment

        self.text = (rule.get("message") or "").strip() or rule["rule"].strip()
        self.message_text: str = (rule.get("message") or "").strip()
        self.reason: str = rule.get("reason") or ""
        self.optional = bool(rule.get("optionalOldSelf"))
        env = rule_environment(schema.schema, root=root, optional_old_self=self.optional)
        self.program: Program = env.compile(rule["rule"])
        self.uses_old_self = "oldSelf" in self.program.references
        self.message: Program | None = None
        if rule.get("messageExpression"):
            try:
                self.message = env.compile(rule["messageExpression"])
            except CompileError:  # The CRD was let in before this was checked: the message is used instead.
                self.message = None
        self.field_path = ""
        if rule.get("fieldPath"):
            try:
                self.field_path = resolve(rule["fieldPath"], schema.schema)[0]
            except FieldPathError:
                self.field_path = ""

    def detail(self, bindings: dict[str, Any], budget: Budget) -> str:
        """Why the rule failed; the message expression's text, if it gives a usable one."""
        if self.message is not None:
            text = self._evaluated(bindings, budget)
            if text:
                return text
        return self.message_text or f"failed rule: {self.text}"

    def _evaluated(self, bindings: dict[str, Any], budget: Budget) -> str:
        from clusters.kube.cel import CostExceeded, EvaluationError

        assert self.message is not None
        try:
            found = self.message.evaluate(bindings, budget)
        except CostExceeded:
            text = "no further validation rules will be run due to call cost exceeds limit for messageExpression"
            raise _MessageTooExpensive(f"{text}: {quote(self.message.text)}") from None
        except EvaluationError:
            found = ""
        if budget.exhausted:
            raise _MessageTooExpensive(
                "messageExpression evaluation failed due to running out of cost budget, no further validation "
                "rules will be run"
            )
        text = found.strip() if isinstance(found, str) else ""
        return "" if len(text.encode()) > MESSAGE_BYTES_MAX or "\n" in text else text


class _MessageTooExpensive(Exception):
    """A message expression used up what was left; the text says so."""


class RuleTree:
    """The rules at one place of the schema and below it."""

    def __init__(self, schema: Structural, *, root: bool) -> None:
        self._schema = schema
        self._root = root
        self._rules: list[_Rule | str] | None = None
        self._items = _below(schema.items)
        self._additional = _below(schema.additional)
        self._properties = {
            name: tree for name, part in schema.properties.items() if (tree := _below(part)) is not None
        }

    def errors(self, obj: Any, old: Any, correlation: Correlation | None) -> tuple[list[FieldError], list[FieldError]]:
        """(what is refused, what would be if it were new)."""
        from clusters.kube.cel import Budget

        run = _Run(Budget(OBJECT_BUDGET))
        with suppress(_OutOfBudget):  # What it found until then, and that it stopped, is in the run.
            self._validate(run, "", obj, old, (correlation, None))
        return run.errors, run.tolerated

    def _compiled(self) -> list[_Rule | str]:
        """Rules are compiled when first needed; one that does not compile any more is its error's text."""
        if self._rules is None:
            from clusters.kube.cel import CompileError

            self._rules = []
            for rule in self._schema.schema.get("x-kubernetes-validations") or ():
                try:
                    self._rules.append(_Rule(rule, self._schema, self._root))
                except CompileError as error:
                    self._rules.append(f"rule compile error: {error.detail}")
        return self._rules

    def _validate(self, run: _Run, path: str, obj: Any, old: Any, past: Past) -> None:
        if obj is None:
            return
        rules = self._compiled()
        if rules:
            self._run_rules(run, rules, path, obj, old, past)
        if obj.__class__ is list:
            if self._items is not None:
                old_items = keyed(old, self._schema) if old.__class__ is list else {}
                for position, each in enumerate(obj):
                    before = old_items.get(composite_key(each, self._schema)) if old_items else None
                    self._items._validate(run, index(path, position), each, before, _item(past, position))
        elif obj.__class__ is dict:
            before_all = old if old.__class__ is dict else {}
            if self._additional is not None:
                for name in sorted(obj):
                    self._additional._validate(
                        run, key(path, name), obj[name], before_all.get(name), _field(past, name)
                    )
            for name, tree in self._properties.items():
                if name in obj:
                    tree._validate(run, child(path, name), obj[name], before_all.get(name), _field(past, name))

    def _run_rules(self, run: _Run, rules: list[_Rule | str], path: str, obj: Any, old: Any, past: Past) -> None:
        kind = self._schema.type
        if run.budget.remaining <= 0:
            run.refuse(invalid(path or NO_PATH, kind, _OUT_OF_BUDGET))
            raise _OutOfBudget
        for rule in rules:
            if isinstance(rule, str):
                run.refuse(invalid(path or NO_PATH, kind, rule))
            elif not rule.uses_old_self or old is not None or rule.optional:
                self._run_rule(run, rule, path, obj, old, past)

    def _run_rule(self, run: _Run, rule: _Rule, path: str, obj: Any, old: Any, past: Past) -> None:
        from clusters.kube.cel import CostExceeded, EvaluationError
        from clusters.kube.cel.schema import ABSENT_OLD_SELF

        kind, budget = self._schema.type, run.budget
        bindings = {"self": obj}
        if rule.optional:
            bindings["oldSelf"] = ABSENT_OLD_SELF if old is None else old
        elif old is not None:
            bindings["oldSelf"] = old
        failure = ""
        holds: Any = False
        expensive = False
        try:
            holds = rule.program.evaluate(bindings, budget)
        except CostExceeded as error:
            failure, expensive = str(error), True
        except EvaluationError as error:
            failure = str(error)
        if budget.exhausted:
            run.refuse(invalid(path or NO_PATH, kind, _OUT_OF_BUDGET))
            raise _OutOfBudget
        if expensive:
            text = f"'{failure}': no further validation rules will be run due to call cost exceeds limit for rule: "
            run.refuse(invalid(path or NO_PATH, kind, text + rule.text))
            raise _OutOfBudget
        if failure.startswith("no such overload"):
            text = "call arguments did not match a supported operator, function or macro signature for rule"
            run.refuse(invalid(path or NO_PATH, kind, f"'{failure}': {text}: {rule.text}"))
        elif failure:
            run.refuse(invalid(path or NO_PATH, kind, f"{failure} evaluating rule: {rule.text}"))
        elif holds is not True:
            self._report(run, rule, path, obj, bindings, past)

    def _report(self, run: _Run, rule: _Rule, path: str, obj: Any, bindings: dict[str, Any], past: Past) -> None:
        where = (child(path, rule.field_path) if rule.field_path else path) or NO_PATH
        tolerated = not rule.uses_old_self and _unchanged(past)
        add = run.tolerate if tolerated else run.refuse
        try:
            detail = rule.detail(bindings, run.budget)
        except _MessageTooExpensive as error:
            add(invalid(where, self._schema.type, str(error)))
            raise _OutOfBudget from None
        value = OMIT_VALUE if self._schema.type in ("object", "array") else obj
        add(_field_error(rule.reason, where, value, detail))


class _Run:
    """One validation: its budget and what it has found."""

    __slots__ = ("budget", "errors", "tolerated")

    def __init__(self, budget: Budget) -> None:
        self.budget = budget
        self.errors: list[FieldError] = []
        self.tolerated: list[FieldError] = []

    def refuse(self, error: FieldError) -> None:
        self.errors.append(error)

    def tolerate(self, error: FieldError) -> None:
        self.tolerated.append(error)


def rule_tree(schema: Structural | None) -> RuleTree | None:
    """The rules of a resource's schema, or None if it has none."""
    return RuleTree(schema, root=True) if schema is not None and _has_rules(schema) else None


def _below(schema: Structural | None) -> RuleTree | None:
    if schema is None or not _has_rules(schema) or not _is_visible(schema):
        return None
    return RuleTree(schema, root=schema.embedded)


def _has_rules(schema: Structural) -> bool:
    if schema.schema.get("x-kubernetes-validations"):
        return True
    parts = [schema.items, schema.additional, *schema.properties.values()]
    return any(part is not None and _has_rules(part) for part in parts)


def _is_visible(schema: Structural) -> bool:
    """CEL does not see values that have no type."""
    from clusters.kube.cel.schema import from_schema

    return from_schema(schema.schema, root=schema.embedded) is not None


def _field(past: Past, name: str) -> Past:
    current, nearest = past
    if current is None:
        return past
    if nearest is None and name in ("apiVersion", "kind"):
        return None, None
    return current.field(name), current


def _item(past: Past, position: int) -> Past:
    current, _ = past
    return past if current is None else (current.item(position), current)


def _unchanged(past: Past) -> bool:
    current, nearest = past
    known = current if current is not None else nearest
    return known is not None and known.unchanged


def _field_error(reason: str, path: str, value: Any, detail: str) -> FieldError:
    if reason == "FieldValueForbidden":
        return forbidden(path, detail)
    if reason == "FieldValueRequired":
        return required(path, detail)
    if reason == "FieldValueDuplicate":
        return duplicate(path, value)
    return invalid(path, value, detail)
