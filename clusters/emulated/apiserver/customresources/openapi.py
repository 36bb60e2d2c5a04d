"""Checking a value against an OpenAPI v3 schema, in the words in which Kubernetes reports it.

Every check that a value passes is counted: of several schemas that all fail (`anyOf`, `oneOf`) the one that came
closest is told about.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from clusters.emulated.apiserver.customresources.correlation import Correlation
from clusters.emulated.apiserver.customresources.formats import check_of
from clusters.emulated.apiserver.customresources.go_numbers import go_float, is_json_integer
from clusters.kube.field import (
    FieldError,
    child,
    invalid,
    not_supported,
    required,
    too_long,
    too_many,
    type_invalid,
)
from clusters.kube.gostring import Verbatim, quote, to_json

Schema = Mapping[str, Any]
Build = Callable[[str], FieldError]

NO_PATH = "<nil>"
_INT32, _INT64 = 2**31, 2**63
_FLOAT32_MAX = 3.4028234663852886e38


class Result:
    """What was found so far. Equal texts are kept once; `build` makes the field error below a given path."""

    __slots__ = ("errors", "matches")

    def __init__(self) -> None:
        self.errors: dict[str, Build] = {}
        self.matches = 0

    def add(self, text: str, build: Build) -> None:
        self.errors.setdefault(text, build)

    def merge(self, other: Result) -> None:
        for text, build in other.errors.items():
            self.errors.setdefault(text, build)
        self.matches += other.matches

    def field_errors(self, path: str) -> list[FieldError]:
        return [build(path) for build in self.errors.values()]


def _at(path: str, name: str) -> str:
    name = name.removeprefix(".")
    return (child(path, name) if name else path) or NO_PATH


class SchemaValidator:
    """One schema, compiled when first used."""

    def __init__(self, schema: Schema) -> None:
        self._schema = schema
        kind = schema.get("type") or ""
        self._types: tuple[str, ...] = (kind,) if kind else ()
        if schema.get("x-kubernetes-int-or-string"):
            self._types = ("integer", "string")
        single = self._types[0] if len(self._types) == 1 else ""
        self._format = _kept_format(single, schema.get("format") or "")
        self._check = check_of(single, self._format) if self._format else None
        self._number_type = single if single in ("integer", "number") else ""
        self._nullable = bool(schema.get("nullable"))
        self._required: list[str] = list(schema.get("required") or ())
        self._pattern: Any = None
        self._children: dict[str, SchemaValidator] = {}
        items, additional = schema.get("items"), schema.get("additionalProperties")
        self._items = SchemaValidator(items) if isinstance(items, Mapping) else None
        self._additional = SchemaValidator(additional) if isinstance(additional, Mapping) else None
        self._closed = additional is False
        self._properties = {
            name: SchemaValidator(part) for name, part in sorted((schema.get("properties") or {}).items())
        }
        self._any_of = [SchemaValidator(part) for part in schema.get("anyOf") or ()]
        self._one_of = [SchemaValidator(part) for part in schema.get("oneOf") or ()]
        self._all_of = [SchemaValidator(part) for part in schema.get("allOf") or ()]
        inverse = schema.get("not")
        self._not = SchemaValidator(inverse) if isinstance(inverse, Mapping) else None

    def errors(self, value: Any, path: str = "", correlation: Correlation | None = None) -> list[FieldError]:
        """All that is wrong with a value; parts that `correlation` knows to be unchanged are let through."""
        result = self._ratcheted(value, "", correlation)
        return result.field_errors(path) if result.errors else []

    def _ratcheted(self, value: Any, name: str, correlation: Correlation | None) -> Result:
        result = self._validate(value, name, correlation)
        if result.errors and correlation is not None and correlation.unchanged:
            result.errors = {}
        return result

    def _validate(self, value: Any, name: str, correlation: Correlation | None) -> Result:
        result = Result()
        if value is None:
            self._check_type(value, name, result)
            self._check_enum(value, name, result)
            return result
        if self._types or self._format:
            self._check_type(value, name, result)
            result.matches += 1
        self._check_composition(value, name, result)
        result.matches += 1
        kind = value.__class__
        if kind is str:
            self._check_string(value, name, result)
            result.matches += 1
            if self._check is not None:
                self._check_format(value, name, result)
                result.matches += 1
        elif kind is int or kind is float:
            self._check_number(value, name, result)
            result.matches += 2
        elif kind is list:
            self._check_list(value, name, result, correlation)
            result.matches += 2
        self._check_enum(value, name, result)
        result.matches += 1
        if kind is dict:
            self._check_object(value, name, result, correlation)
            result.matches += 1
        result.matches += 1
        return result

    # One keyword at a time

    def _check_type(self, value: Any, name: str, result: Result) -> None:
        types, form = self._types, self._format
        if value is None:
            if types and not self._nullable:
                self._wrong_type(name, ",".join(types), "null", result)
            else:
                result.matches += 1
            return
        found, found_format = _type_of(value)
        integral = found == "number" and is_json_integer(value) and "integer" in types
        widened = found == "integer" and "number" in types
        if form and found not in ("string", "array"):
            lower = form == "int64" and found_format == "int32"
            if not (found in types or found_format == form or integral or widened or lower):
                self._wrong_type(name, form, found_format, result)
                return
        numeric = "number" in types or "integer" in types
        if not numeric and form and found in ("string", "array"):
            result.matches += 1
            return
        if found in types or integral or widened:
            result.matches += 1
        else:
            self._wrong_type(name, ",".join(types), found, result)

    @staticmethod
    def _wrong_type(name: str, wanted: str, found: str, result: Result) -> None:
        text = f"{name} in body must be of type {wanted}: {quote(found)}"
        result.add(text, lambda path: type_invalid(_at(path, name), found, text))

    def _check_string(self, value: str, name: str, result: Result) -> None:
        """The first of length and pattern that is wrong."""
        schema = self._schema
        longest, shortest, pattern = schema.get("maxLength"), schema.get("minLength"), schema.get("pattern")
        if longest is not None and len(value) > longest:
            text = f"{name} in body should be at most {longest} chars long"
            result.add(text, lambda path: too_long(_at(path, name), longest))
        elif shortest is not None and len(value) < shortest:
            self._refuse(value, name, f"should be at least {shortest} chars long", result)
        elif pattern and not self._matches(pattern, value):
            self._refuse(value, name, f"should match '{pattern}'", result)

    def _matches(self, pattern: str, value: str) -> bool:
        if self._pattern is None:
            from clusters.kube.cel.regex import compile_re2

            self._pattern = compile_re2(pattern)
        return self._pattern.search(value) is not None

    def _check_format(self, value: str, name: str, result: Result) -> None:
        assert self._check is not None
        if not self._check(value):
            text = f"{name} in body must be of type {self._format}: {quote(value)}"
            result.add(text, lambda path: type_invalid(_at(path, name), value, text))

    @staticmethod
    def _refuse(value: Any, name: str, why: str, result: Result) -> None:
        text = f"{name} in body {why}"
        shown = Verbatim(go_float(value)) if value.__class__ is float else value
        result.add(text, lambda path: invalid(_at(path, name), shown, text))

    @staticmethod
    def _refuse_whole(text: str, result: Result) -> None:
        """What is not about one field has no path of its own."""
        result.add(text, lambda path: invalid(path or NO_PATH, "", text))

    def _check_number(self, value: int | float, name: str, result: Result) -> None:
        schema = self._schema
        self._check_range(value, "Checked", name, result)
        multiple, lowest, highest = schema.get("multipleOf"), schema.get("minimum"), schema.get("maximum")
        if multiple is not None:
            self._check_multiple(value, multiple, name, result)
        if lowest is not None:
            limit = int(lowest) if value.__class__ is int else float(lowest)
            exclusive = bool(schema.get("exclusiveMinimum"))
            if value < limit or (exclusive and value == limit):
                how = "greater than" if exclusive else "greater than or equal to"
                self._refuse(value, name, f"should be {how} {go_float(limit)}", result)
        if highest is not None:
            limit = int(highest) if value.__class__ is int else float(highest)
            exclusive = bool(schema.get("exclusiveMaximum"))
            if value > limit or (exclusive and value == limit):
                how = "less than" if exclusive else "less than or equal to"
                self._refuse(value, name, f"should be {how} {go_float(limit)}", result)

    def _check_range(self, value: int | float, what: str, name: str, result: Result) -> None:
        if self._number_type != "integer":
            if self._format == "float" and abs(value) > _FLOAT32_MAX:
                self._refuse_whole(f"{what} value must be of type number with format float in {name}", result)
            return
        limit = _INT32 if self._format == "int32" else _INT64
        if value != int(value) or not -limit <= value < limit:
            form = f"with format {self._format}" if self._format else "(default format)"
            self._refuse_whole(f"{what} value must be of type integer {form} in {name}", result)

    def _check_multiple(self, value: int | float, multiple: int | float, name: str, result: Result) -> None:
        if value.__class__ is int:
            factor: int | float = int(multiple)
            if factor <= 0:
                self._refuse_factor(factor, name, result)
            elif value % factor:
                self._refuse(value, name, f"should be a multiple of {go_float(factor)}", result)
            return
        if multiple <= 0:
            self._refuse_factor(multiple, name, result)
            return
        times = 1 / multiple * value if multiple < 1 else value / multiple
        if not is_json_integer(times):
            self._refuse(value, name, f"should be a multiple of {go_float(float(multiple))}", result)

    @staticmethod
    def _refuse_factor(factor: int | float, name: str, result: Result) -> None:
        text = f"factor MultipleOf declared for {name} must be positive: {go_float(factor)}"
        result.add(text, lambda path: invalid(_at(path, name), factor, text))

    def _check_enum(self, value: Any, name: str, result: Result) -> None:
        allowed = self._schema.get("enum")
        if not allowed or (value is not None and any(_equals(value, each) for each in allowed)):
            return
        shown = [each if isinstance(each, str) else to_json(each) for each in allowed]
        text = f"{name} in body should be one of [{' '.join(shown)}]"
        result.add(text, lambda path: not_supported(_at(path, name), value, shown))

    def _check_list(self, value: list[Any], name: str, result: Result, correlation: Correlation | None) -> None:
        schema = self._schema
        if self._items is not None:
            for position, each in enumerate(value):
                past = None if correlation is None else correlation.item(position)
                result.merge(self._items._ratcheted(each, f"{name}[{position}]", past))
        fewest, most, size = schema.get("minItems"), schema.get("maxItems"), len(value)
        if fewest is not None and size < fewest:
            self._refuse(size, name, f"should have at least {fewest} items", result)
        if most is not None and size > most:
            text = f"{name} in body should have at most {most} items"
            result.add(text, lambda path: too_many(_at(path, name), size, most))
        if schema.get("uniqueItems") and len({to_json(each) for each in value}) != size:
            self._refuse("", name, "shouldn't contain duplicates", result)

    def _check_object(self, value: dict[str, Any], name: str, result: Result, correlation: Correlation | None) -> None:
        schema, size = self._schema, len(value)
        fewest, most = schema.get("minProperties"), schema.get("maxProperties")
        if fewest is not None and size < fewest:
            self._refuse(size, name, f"should have at least {fewest} properties", result)
        if most is not None and size > most:
            text = f"{name} in body should have at most {most} properties"
            result.add(text, lambda path: too_many(_at(path, name), size, most))
        properties = self._properties
        if self._closed:
            for field in sorted(value):
                if field not in properties:
                    self._forbid(field, name, result)
        elif self._additional is not None:
            for field in sorted(value):
                if field not in properties:
                    past = _past(correlation, field, name)
                    result.merge(self._additional._ratcheted(value[field], f"{name}.{field}", past))
        for field, validator in properties.items():
            if field in value:
                below = f"{name}.{field}" if name else field
                result.merge(validator._ratcheted(value[field], below, _past(correlation, field, name)))
        for field in self._required:
            if field not in value:
                self._miss(f"{name}.{field}", result)

    @staticmethod
    def _forbid(field: str, name: str, result: Result) -> None:
        text = f"{name}.{field} in body is a forbidden property"
        result.add(text, lambda path: invalid(_at(path, name), field, text))

    @staticmethod
    def _miss(name: str, result: Result) -> None:
        result.add(f"{name} in body is required", lambda path: required(_at(path, name)))

    # Schemas made of schemas: nothing in them is compared with the past.

    def _check_composition(self, value: Any, name: str, result: Result) -> None:
        if self._any_of:
            self._check_any_of(value, name, result)
        if self._one_of:
            self._check_one_of(value, name, result)
        if self._all_of:
            outcomes = [part._validate(value, name, None) for part in self._all_of]
            for each in outcomes:
                result.merge(each)
            failed = sum(1 for each in outcomes if each.errors)
            if failed:
                more = ". None validated" if failed == len(outcomes) else ""
                self._refuse_whole(f"{quote(name)} must validate all the schemas (allOf){more}", result)
        if self._not is not None and not self._not._validate(value, name, None).errors:
            self._refuse_whole(f"{quote(name)} must not validate the schema (not)", result)
        result.matches += 1

    def _check_any_of(self, value: Any, name: str, result: Result) -> None:
        best: Result | None = None
        for part in self._any_of:
            outcome = part._validate(value, name, None)
            if not outcome.errors:
                result.merge(outcome)
                return
            if best is None or outcome.matches > best.matches:
                best = outcome
        self._refuse_whole(f"{quote(name)} must validate at least one schema (anyOf)", result)
        assert best is not None
        result.merge(best)

    def _check_one_of(self, value: Any, name: str, result: Result) -> None:
        best: Result | None = None
        valid: list[Result] = []
        for part in self._one_of:
            outcome = part._validate(value, name, None)
            if not outcome.errors:
                valid.append(outcome)
            elif best is None or outcome.matches > best.matches:
                best = outcome
        if len(valid) == 1:
            result.merge(valid[0])
            return
        found = f"Found {len(valid)} valid alternatives" if valid else "Found none valid"
        self._refuse_whole(f"{quote(name)} must validate one and only one schema (oneOf). {found}", result)
        if not valid and best is not None:
            result.merge(best)


def _past(correlation: Correlation | None, field: str, name: str) -> Correlation | None:
    """apiVersion and kind of the resource itself are always checked: both sides were made the same version."""
    if correlation is None or (not name and field in ("apiVersion", "kind")):
        return None
    return correlation.field(field)


def _kept_format(single: str, form: str) -> str:
    if single in ("", "string"):
        return form if check_of("", form) is not None else ""
    known = {"integer": ("int32", "int64"), "number": ("float", "double")}
    return form if form in known.get(single, ()) else ""


def _type_of(value: Any) -> tuple[str, str]:
    kind = value.__class__
    if kind is str:
        return "string", ""
    if kind is bool:
        return "boolean", ""
    if kind is int:
        return "integer", "int64"
    if kind is float:
        return "number", "float64"
    return ("array", "") if kind is list else ("object", "")


def _equals(value: Any, allowed: Any) -> bool:
    if isinstance(value, bool) or isinstance(allowed, bool):
        return value is allowed
    return bool(value == allowed)
