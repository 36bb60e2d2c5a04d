"""The type checker: gives every node a type and every call its possible overloads, as cel-go does.

Type variables are solved by substitution while the tree is walked once; a dyn fits everywhere.
"""

from __future__ import annotations

from collections.abc import Mapping

from clusters.kube.cel import types as t
from clusters.kube.cel.declarations import Function, Library
from clusters.kube.cel.errors import Issue
from clusters.kube.cel.substitution import Substitution, is_dyn, most_general
from clusters.kube.cel.syntax import Call, Comprehension, Ident, ListExpr, Literal, MapExpr, Node, Select, StructExpr
from clusters.kube.cel.types import Type, shown
from clusters.kube.cel.values import type_of

# Types that are known only to functions: cel-go cannot look them up.
_OPAQUE_TYPES = (t.QUANTITY, t.URL, t.SEMVER, t.NAMED_FORMAT, t.AUTHORIZER, t.PATH_CHECK, t.GROUP_CHECK)
_OPAQUE = frozenset(type_.name for type_ in (*_OPAQUE_TYPES, t.RESOURCE_CHECK, t.DECISION))


def qualified_name(node: Node) -> str | None:
    """``a.b.c`` when the node is nothing but a dotted name."""
    if isinstance(node, Ident):
        return node.name
    if isinstance(node, Select) and not node.test_only:
        prefix = qualified_name(node.operand)
        return None if prefix is None else f"{prefix}.{node.field}"
    return None


def _unwrap(type_: Type) -> tuple[Type, bool]:
    if type_.name == "optional_type" and type_.params:
        return type_.params[0], True
    return type_, False


class Checker:
    """One check of one tree; ``issues`` collects what is wrong."""

    def __init__(self, library: Library, variables: Mapping[str, Type]) -> None:
        self.library = library
        self.scopes: list[Mapping[str, Type]] = [variables]
        self.issues: list[Issue] = []
        self.subs = Substitution()
        self.references: set[str] = set()
        self._rules = {
            Literal: self._literal,
            Ident: self._ident,
            Select: self._select,
            Call: self._call,
            ListExpr: self._list,
            MapExpr: self._map,
            StructExpr: self._struct,
            Comprehension: self._comprehension,
        }

    def check(self, node: Node) -> Type:
        type_: Type = self._rules[type(node)](node)  # type: ignore[operator]
        node.type = type_
        return type_

    def final(self, node: Node) -> Type:
        assert node.type is not None
        return self.subs.apply(node.type, dyn=True)

    def _error(self, node_offset: int, message: str) -> None:
        self.issues.append(Issue(node_offset, message))

    def _undeclared(self, offset: int, name: str) -> Type:
        self._error(offset, f"undeclared reference to '{name}' (in container '')")
        return t.ERROR

    def _mismatch(self, offset: int, expected: Type, actual: Type) -> None:
        self._error(offset, f"expected type '{shown(expected)}' but found '{shown(actual)}'")

    def _lookup(self, name: str) -> Type | None:
        name = name.removeprefix(".")
        for scope in reversed(self.scopes):
            found = scope.get(name)
            if found is not None:
                if scope is self.scopes[0]:
                    self.references.add(name)
                return found
        return self.library.type_named(name)

    def _literal(self, node: Literal) -> Type:
        return type_of(node.value)

    def _ident(self, node: Ident) -> Type:
        found = self._lookup(node.name)
        if found is None:
            return self._undeclared(node.offset, node.name)
        node.name = node.name.removeprefix(".")
        if found.kind == "type" and found.params and self._is_type_name(node.name):
            node.constant = found.params[0]
        return found

    def _is_type_name(self, name: str) -> bool:
        return all(name not in scope for scope in self.scopes)

    def _select(self, node: Select) -> Type:
        if not node.test_only:
            name = qualified_name(node)
            if name is not None:
                found = self._lookup(name)
                if found is not None:
                    node.qualified = Ident(node.offset, name.removeprefix("."))
                    node.qualified.type = found
                    if found.kind == "type" and found.params and self._is_type_name(name):
                        node.qualified.constant = found.params[0]
                    return found
        result = self._field(node.offset, node.operand, node.field, False)
        return t.BOOL if node.test_only else self.subs.apply(result)

    def _field(self, offset: int, operand: Node, field: str, optional: bool) -> Type:
        target, is_optional = _unwrap(self.subs.apply(self.check(operand)))
        if target.kind == "map":
            result = target.params[1]
        elif target.kind == "struct":
            result = self._struct_field(offset, target, field)
        elif target.kind == "param":
            self.subs.assignable(t.DYN, target)
            result = t.DYN
        else:
            if target.kind not in ("dyn", "any", "error"):
                self._error(offset, f"type '{shown(target)}' does not support field selection")
            result = t.DYN
        return t.optional_of(result) if is_optional or optional else result

    def _struct_field(self, offset: int, target: Type, field: str, constructing: bool = False) -> Type:
        if target.fields is None:
            return t.DYN
        if not target.fields and target.name in _OPAQUE:
            self._error(offset, f"unexpected failed resolution of '{target.name}'")
            return t.ERROR
        # A reserved word may be written as it is after a dot, or escaped.
        found = target.fields.get(field) or target.fields.get(f"__{field}__")
        if found is None and constructing and target.name == "JSONPatch":
            # Kubernetes gives unknown fields of a JSONPatch a type without a name, which nothing fits.
            return Type("unspecified", " ")
        if found is None:
            self._error(offset, f"undefined field '{field}'")
            return t.ERROR
        return found[0]

    def _call(self, node: Call) -> Type:
        if node.function == "_?._":
            field = node.args[1]
            assert isinstance(field, Literal)
            assert isinstance(field.value, str)
            field.type = t.STRING
            result = self._field(node.offset, node.args[0], field.value, True)
            return self.subs.apply(result)
        for arg in node.args:
            self.check(arg)
        if node.target is None:
            function = self.library.function(node.function.removeprefix("."))
            if function is None:
                return self._undeclared(node.offset, node.function)
            node.function = function.name
            return self._resolve(node, function, node.args)
        prefix = qualified_name(node.target)
        if prefix is not None:
            function = self.library.function(f"{prefix.removeprefix('.')}.{node.function}")
            if function is not None:
                node.function = function.name
                node.target = None
                return self._resolve(node, function, node.args)
        self.check(node.target)
        function = self.library.function(node.function)
        if function is None:
            return self._undeclared(node.offset, node.function)
        return self._resolve(node, function, [node.target, *node.args])

    def _resolve(self, node: Call, function: Function, args: list[Node]) -> Type:
        types = [arg.type for arg in args]
        assert all(type_ is not None for type_ in types)
        given: list[Type] = types  # type: ignore[assignment]
        if function.name in ("_&&_", "_||_"):
            return self._logical(args, given)
        member = node.target is not None
        result: Type | None = None
        matched: list[str] = []
        for overload in function.overloads:
            if overload.member is not member:
                continue
            wanted, output = overload.args, overload.result
            if overload.type_params:
                fresh = {name: self.subs.fresh() for name in overload.type_params}
                wanted = tuple(_instantiate(arg, fresh) for arg in wanted)
                output = _instantiate(output, fresh)
            if not self.subs.assignable_list(given, wanted):
                continue
            matched.append(overload.id)
            output = self.subs.apply(output)
            if result is None:
                result = output
            elif not is_dyn(result) and not output.same(result):
                result = t.DYN
        if result is None:
            shown_args = [shown(self.subs.apply(type_, dyn=True)) for type_ in given]
            prefix = f"{shown_args.pop(0)}." if member else ""
            signature = f"{prefix}({', '.join(shown_args)})"
            self._error(node.offset, f"found no matching overload for '{function.name}' applied to '{signature}'")
            return t.ERROR
        node.overloads = tuple(matched)
        return result

    def _logical(self, args: list[Node], given: list[Type]) -> Type:
        result = t.BOOL
        for arg, type_ in zip(args, given, strict=True):
            if not self.subs.assignable(type_, t.BOOL):
                self._mismatch(arg.offset, t.BOOL, type_)
                result = t.ERROR
        return result

    def _join(self, node: Node, previous: Type | None, current: Type) -> Type:
        if previous is None:
            return current
        if self.subs.assignable(previous, current):
            return most_general(previous, current)
        # Mixed literals are dyn here; the validators refuse them, except inside format().
        return t.DYN

    def _optional_entry(self, node: Node, type_: Type) -> Type:
        inner, is_optional = _unwrap(type_)
        if not is_optional and not is_dyn(inner):
            self._mismatch(node.offset, t.optional_of(inner), inner)
        return inner

    def _list(self, node: ListExpr) -> Type:
        joined: Type | None = None
        for index, element in enumerate(node.elements):
            type_ = self.check(element)
            if index in node.optional:
                type_ = self._optional_entry(element, type_)
            joined = self._join(element, joined, type_)
        return t.list_of(joined if joined is not None else self.subs.fresh())

    def _map(self, node: MapExpr) -> Type:
        keys: Type | None = None
        values: Type | None = None
        for entry in node.entries:
            assert isinstance(entry.key, Node)
            keys = self._join(entry.key, keys, self.check(entry.key))
            type_ = self.check(entry.value)
            if entry.optional:
                type_ = self._optional_entry(entry.value, type_)
            values = self._join(entry.value, values, type_)
        if keys is None or values is None:
            return t.map_of(self.subs.fresh(), self.subs.fresh())
        return t.map_of(keys, values)

    def _struct(self, node: StructExpr) -> Type:
        found = self._lookup(node.name)
        if found is None:
            return self._undeclared(node.offset, node.name)
        node.name = node.name.removeprefix(".")
        result = t.ERROR
        if found.kind != "type":
            self._error(node.offset, f"'{found.name}' is not a type")
        elif found.params and found.params[0].kind == "struct":
            result = found.params[0]
        else:
            named = found.params[0].name if found.params else "type"
            self._error(node.offset, f"'{named}' is not a message type")
        for entry in node.fields:
            assert isinstance(entry.key, str)
            type_ = self.check(entry.value)
            field = t.ERROR if result is t.ERROR else self._struct_field(entry.offset, result, entry.key, True)
            if entry.optional:
                type_ = self._optional_entry(entry.value, type_)
            if not self.subs.assignable(field, type_):
                self._error(
                    entry.offset,
                    f"expected type of field '{entry.key}' is '{shown(field)}' but provided type is '{shown(type_)}'",
                )
        return result

    def _comprehension(self, node: Comprehension) -> Type:
        range_type = self.subs.apply(self.check(node.range))
        accu_type = self.check(node.accu)
        second: Type | None = None
        if range_type.kind == "list":
            first = range_type.params[0]
            if node.iter_var2 is not None:
                first, second = t.INT, first
        elif range_type.kind == "map":
            first, second = range_type.params
        elif range_type.kind in ("dyn", "error", "param"):
            self.subs.assignable(t.DYN, range_type)
            first = second = t.DYN
        else:
            self._error(
                node.range.offset,
                f"expression of type '{shown(range_type)}' cannot be range of a comprehension"
                " (must be list, map, or dynamic)",
            )
            first = second = t.ERROR
        inner = {node.iter_var: first}
        if node.iter_var2 is not None:
            assert second is not None
            inner[node.iter_var2] = second
        self.scopes.append({node.accu_var: accu_type})
        self.scopes.append(inner)
        self._assert(node.condition, t.BOOL)
        self._assert(node.step, accu_type)
        self.scopes.pop()
        result = self.check(node.result)
        self.scopes.pop()
        return self.subs.apply(result)

    def _assert(self, node: Node, expected: Type) -> None:
        actual = self.check(node)
        if not self.subs.assignable(expected, actual):
            self._mismatch(node.offset, expected, actual)


def _instantiate(type_: Type, fresh: Mapping[str, Type]) -> Type:
    if type_.kind == "param":
        return fresh[type_.name]
    if not type_.params:
        return type_
    return Type(type_.kind, type_.name, tuple(_instantiate(each, fresh) for each in type_.params), type_.fields)
