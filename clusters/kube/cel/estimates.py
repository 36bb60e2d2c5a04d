"""The worst-case cost of an expression before it runs, for admitting CRD validation rules.

The sizes come from the schema (maxLength, maxItems, maxProperties, or what fits into a request); the
rules are cel-go's checker costs with Kubernetes' estimates for its own functions.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from clusters.kube.cel import types as t
from clusters.kube.cel.costs import LIST_COST, MAP_COST, REGEX_FACTOR, STRING_FACTOR, STRUCT_COST
from clusters.kube.cel.environment import Program
from clusters.kube.cel.estimates_calls import call_estimate
from clusters.kube.cel.macros import ACCU
from clusters.kube.cel.ranges import FIXED_ONE, UNKNOWN, Range, fixed
from clusters.kube.cel.schema import MAX_REQUEST_BYTES, Declaration
from clusters.kube.cel.syntax import Call, Comprehension, Ident, ListExpr, Literal, MapExpr, Node, Select, StructExpr
from clusters.kube.cel.types import Type

Path = tuple[str, ...]
_SCALARS = frozenset({"bool", "double", "duration", "int", "timestamp", "uint"})


def estimate_cost(program: Program, root: Declaration) -> Range:
    """The least and the most a rule on ``root`` (``self``) can cost in one evaluation."""
    return _Estimator(root, program.final).cost(program.tree)


def max_cardinality(declared: Declaration) -> int:
    """How often data of this schema can occur in one request."""
    return MAX_REQUEST_BYTES // (declared.min_size + 1)


class Operand:
    """What an estimate may ask about a target or an argument."""

    __slots__ = ("_estimator", "node", "path", "size", "type")

    def __init__(self, estimator: _Estimator, node: Node, path: Path, size: Range | None, type_: Type) -> None:
        self._estimator = estimator
        self.node = node
        self.path = path
        self.size = size
        self.type = type_

    @property
    def known(self) -> Range:
        """The size, or that nothing is known."""
        if self.size is not None:
            return self.size
        return self._estimator.declared_size(self.path) or UNKNOWN

    def element(self) -> tuple[Type, Range] | None:
        """Type and size of the elements, when this is a list."""
        if not self.type.params:
            return None
        size = self._estimator.declared_size((*self.path, "@items")) if self.path else None
        return self.type.params[0], size or UNKNOWN


class _Entries:
    """Sizes of the keys and values of a container built in the expression."""

    __slots__ = ("key", "kind", "value")

    def __init__(self, kind: str, key: Range, value: Range) -> None:
        self.kind = kind
        self.key = key
        self.value = value

    def union(self, other: _Entries | None) -> _Entries | None:
        if other is None:
            return None
        return _Entries(self.kind, self.key | other.key, self.value | other.value)


class _Local:
    __slots__ = ("entries", "path", "size")

    def __init__(self, path: Path, size: Range | None, entries: _Entries | None) -> None:
        self.path = path
        self.size = size
        self.entries = entries


class _Estimator:
    def __init__(self, root: Declaration, final: Callable[[Node], Type]) -> None:
        self.root = root
        self.final = final
        self.paths: dict[int, Path] = {}
        self.sizes: dict[int, Range] = {}
        self.entries: dict[int, _Entries] = {}
        self.locals: dict[str, list[_Local]] = {}
        self._rules: dict[type, Callable[[Any], Range]] = {
            Literal: lambda node: fixed(0),
            Ident: self._ident,
            Select: self._select,
            Call: self._call,
            ListExpr: self._list,
            MapExpr: self._map,
            StructExpr: lambda node: sum((self.cost(f.value) for f in node.fields), fixed(STRUCT_COST)),
            Comprehension: self._comprehension,
        }

    def cost(self, node: Node) -> Range:
        return self._rules[type(node)](node)

    # What is known about a node.

    def declared_size(self, path: Path) -> Range | None:
        if not path:
            return None
        current = self.root
        for name in path[1:]:
            if name in ("@items", "@values"):
                following = current.elements
            elif name == "@keys":
                following = current.keys
            else:
                following = (current.fields or {}).get(name)
            if following is None:
                return None
            current = following
        return Range(0, current.max_elements)

    def path(self, node: Node) -> Path:
        if isinstance(node, Ident):
            local = self._local(node.name)
            if local is not None:
                return local.path
        return self.paths.get(id(node), ())

    def _local(self, name: str) -> _Local | None:
        stack = self.locals.get(name)
        return stack[-1] if stack else None

    def size(self, node: Node) -> Range | None:
        known = self.sizes.get(id(node))
        if known is None:
            known = _literal_size(node)
        if known is None:
            known = self.declared_size(self.path(node))
            if known is not None:
                self.sizes[id(node)] = known
        if known is None and _is_scalar(self.final(node)):
            known = FIXED_ONE
        if known is None and isinstance(node, Ident):
            local = self._local(node.name)
            known = local.size if local is not None else None
        return known

    def entry_sizes(self, node: Node) -> _Entries | None:
        known = self.entries.get(id(node))
        if known is None and isinstance(node, Ident):
            local = self._local(node.name)
            known = local.entries if local is not None else None
        return known

    def operand(self, node: Node) -> Operand:
        path = self.path(node)
        if path and path[0] == ACCU:
            path = ()
        return Operand(self, node, path, self.size(node), self.final(node))

    # Costs.

    def _ident(self, node: Ident) -> Range:
        local = self._local(node.name)
        self.paths[id(node)] = local.path if local is not None else (node.name,)
        return FIXED_ONE

    def _select(self, node: Select) -> Range:
        if node.qualified is not None:
            return self._ident(node.qualified)
        cost = self.cost(node.operand)
        if node.test_only:
            return cost
        if self.final(node.operand).kind in ("map", "struct", "param"):
            cost += FIXED_ONE
        path = self.path(node.operand)
        self.paths[id(node)] = (*path, node.field)
        return cost

    def _list(self, node: ListExpr) -> Range:
        cost, item = fixed(LIST_COST), None
        for element in node.elements:
            cost += self.cost(element)
            size = self.size(element) or UNKNOWN
            item = size if item is None else item | size
        self.entries[id(node)] = _Entries("list", FIXED_ONE, item or fixed(0))
        return cost

    def _map(self, node: MapExpr) -> Range:
        cost, key, value = fixed(MAP_COST), None, None
        for entry in node.entries:
            assert isinstance(entry.key, Node)
            cost += self.cost(entry.key) + self.cost(entry.value)
            key_size = self.size(entry.key) or UNKNOWN
            value_size = self.size(entry.value) or UNKNOWN
            key = key_size if key is None else key | key_size
            value = value_size if value is None else value | value_size
        self.entries[id(node)] = _Entries("map", key or fixed(0), value or fixed(0))
        return cost

    def _call(self, node: Call) -> Range:
        if node.function == "dyn":
            cost = self.cost(node.args[0]) + FIXED_ONE
            self._copy_sizes(node, node.args[0])
            return cost
        costs = [self.cost(arg) for arg in node.args]
        if node.function in ("_&&_", "_||_"):
            return Range(costs[0].low, sum(costs, fixed(0)).high)
        args = [self.operand(arg) for arg in node.args]
        cost, target = fixed(0), None
        if node.target is not None:
            cost = self.cost(node.target)
            target = self.operand(node.target)
        total: Range | None = None
        result: Range | None = None
        for overload in node.overloads or (("select_optional_field",) if node.function == "_?._" else ()):
            spent, size = self._overload(node, overload, target, args, costs)
            total = spent if total is None else total | spent
            if size is not None:
                result = size if result is None else result | size
            if overload in ("index_list", "index_map"):
                entries = self.entry_sizes(node.args[0])
                result = entries.value if entries is not None else None
                tail = "@items" if overload == "index_list" else "@values"
                self.paths[id(node)] = (*self.path(node.args[0]), tail)
            if result is None:
                result = self.size(node)
        if total is None:
            return fixed(0)
        if result is not None:
            self.sizes[id(node)] = result
        return cost + total

    def _copy_sizes(self, target: Node, source: Node) -> None:
        size, entries = self.size(source), self.entry_sizes(source)
        if size is not None:
            self.sizes[id(target)] = size
        if entries is not None:
            self.entries[id(target)] = entries

    def _overload(
        self, node: Call, overload: str, target: Operand | None, args: list[Operand], costs: list[Range]
    ) -> tuple[Range, Range | None]:
        spent = sum(costs, fixed(0))
        special = call_estimate(node.function, overload, target, args)
        if special is not None:
            return special[0] + spent, special[1]
        sizes = [arg.size or UNKNOWN for arg in args]
        own = (target.size or UNKNOWN) if target is not None else UNKNOWN
        if overload == "string_format":
            return own.scaled(STRING_FACTOR) + spent, None
        if overload == "string_to_bytes":
            return sizes[0].scaled(STRING_FACTOR) + spent, Range(sizes[0].low, sizes[0].high * 4)
        if overload == "bytes_to_string":
            return sizes[0].scaled(STRING_FACTOR) + spent, Range(sizes[0].low // 4, sizes[0].high)
        if overload == "strings_quote":
            return sizes[0].scaled(STRING_FACTOR) + spent, Range(sizes[0].low + 2, sizes[0].high * 2 + 2)
        if overload in ("starts_with_string", "ends_with_string"):
            return sizes[0].scaled(STRING_FACTOR) + spent, None
        if overload == "in_list":
            return sizes[1] + spent, None
        if overload == "matches_string":
            text = (own + FIXED_ONE).scaled(STRING_FACTOR)
            return text * sizes[0].scaled(REGEX_FACTOR) + spent, None
        if overload == "contains_string":
            return own.scaled(STRING_FACTOR) * sizes[0].scaled(STRING_FACTOR) + spent, None
        if overload == "conditional":
            merged = self.entry_sizes(args[1].node)
            merged = merged.union(self.entry_sizes(args[2].node)) if merged is not None else None
            if merged is not None:
                self.entries[id(node)] = merged
            return costs[0] + (costs[1] | costs[2]), sizes[1] | sizes[2]
        if overload in ("add_string", "add_bytes", "add_list"):
            size = sizes[0] + sizes[1]
            left = self.entry_sizes(args[0].node)
            both = left.union(self.entry_sizes(args[1].node)) if left is not None else None
            if both is not None:
                self.entries[id(node)] = both
            return (FIXED_ONE if overload == "add_list" else size.scaled(STRING_FACTOR)) + spent, size
        if overload in ("equals", "not_equals") or (overload.endswith(("_string", "_bytes")) and "_" in node.function):
            smallest = min(sizes[0].high, sizes[1].high)
            return Range(1 if smallest > 0 else 0, smallest).scaled(STRING_FACTOR) + spent, None
        return FIXED_ONE + spent, None

    def _push(self, name: str, local: _Local) -> None:
        self.locals.setdefault(name, []).append(local)

    def _comprehension(self, node: Comprehension) -> Range:
        cost = self.cost(node.range) + self.cost(node.accu)
        self._push(node.accu_var, _Local(self.path(node.accu), self.size(node.accu), self.entry_sizes(node.accu)))
        if node.macro == "bind":
            cost += self.cost(node.result)
            self.locals[node.accu_var].pop()
            self._copy_sizes(node, node.result)
            return cost
        self._push_variables(node)
        each = self.cost(node.condition) + self.cost(node.step)
        for name in (node.iter_var, node.iter_var2):
            if name is not None:
                self.locals[name].pop()
        cost += self.cost(node.result)
        self.locals[node.accu_var].pop()
        count = self.size(node.range) or UNKNOWN
        if isinstance(node.accu, Literal):
            size = self.size(node.accu)
            if size is not None:
                self.sizes[id(node)] = size
        else:
            self.sizes[id(node)] = count
            step = self.entry_sizes(node.step)
            if step is not None:
                self.entries[id(node)] = step
        return cost + count * each

    def _push_variables(self, node: Comprehension) -> None:
        entries = self.entry_sizes(node.range)
        kind = entries.kind if entries is not None else self.final(node.range).kind
        path = self.path(node.range)
        key = entries.key if entries is not None else None
        value = entries.value if entries is not None else None
        if node.iter_var2 is not None:
            self._push(node.iter_var, _Local((*path, "@indices" if kind == "list" else "@keys"), key, None))
            self._push(node.iter_var2, _Local((*path, "@items" if kind == "list" else "@values"), value, None))
        elif kind == "list":
            self._push(node.iter_var, _Local((*path, "@items"), value, None))
        else:
            self._push(node.iter_var, _Local((*path, "@keys"), key, None))


def _literal_size(node: Node) -> Range | None:
    if isinstance(node, Literal):
        return fixed(len(node.value) if isinstance(node.value, (str, bytes)) else 1)
    if isinstance(node, ListExpr):
        return fixed(len(node.elements))
    if isinstance(node, MapExpr):
        return fixed(len(node.entries))
    return None


def _is_scalar(type_: Type) -> bool:
    if type_.name == t.OPTIONAL.name and type_.params:
        return _is_scalar(type_.params[0])
    return type_.kind in _SCALARS
