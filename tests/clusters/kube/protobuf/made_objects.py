"""Objects of any built-in kind, made from its shape: every field may be there, with any value of its type."""

from __future__ import annotations

import base64
from collections.abc import Callable
from random import Random
from typing import Any

from clusters.kube.protobuf.messages import Message, Messages
from clusters.kube.schema import Catalogue, ListType, MapType, Scalar, Struct, Type

DEPTH_MAX = 6
_TEXTS = ("", "a", "web-1", "ünïcode ☃", "x" * 200, "line\nbreak", "0")
_INTS = (0, 1, -1, 127, 128, 16384, 2**31 - 1, -(2**31))


class Maker:
    """`chance` is how likely an optional field is there."""

    def __init__(self, catalogue: Catalogue, random: Random, chance: float = 0.5) -> None:
        self._catalogue = catalogue
        self._random = random
        self._chance = chance

    def struct(self, struct: Struct, depth: int = 0) -> dict[str, Any]:
        made = {}
        numbered = _names(Messages.of("1.36").message(struct))
        for field in struct.fields.values():
            if field.name not in numbered:  # Kind and apiVersion are the envelope's.
                continue
            if self._random.random() > self._chance / (1 + depth / 3) or depth > DEPTH_MAX:
                continue
            made[field.name] = self.value(field.type, depth + 1)
        return made

    def value(self, kind: Type, depth: int) -> Any:
        if isinstance(kind, Struct):
            return self.struct(kind, depth)
        if isinstance(kind, ListType):  # An empty list and none are the same in protobuf.
            return [self.value(kind.element, depth + 1) for _ in range(self._random.randint(1, 3))]
        if isinstance(kind, MapType):
            names = self._random.sample(("a", "b", "cpu", "ünï"), self._random.randint(1, 3))
            return {name: self.value(kind.element, depth + 1) for name in names}
        return self._scalar(kind, depth)

    def _scalar(self, kind: Scalar, depth: int) -> Any:
        random = self._random
        schema = self._catalogue.struct("apiextensions/v1.JSONSchemaProps")
        makers: dict[str, Callable[[], Any]] = {
            "string": lambda: random.choice(_TEXTS),
            "bool": lambda: random.random() < 0.5,
            "int32": lambda: random.choice(_INTS),
            "int64": lambda: random.choice((*_INTS, 2**63 - 1, -(2**63))),
            "float64": lambda: random.choice((0, 1, -2.5, 1e300)),
            "bytes": lambda: base64.b64encode(random.randbytes(random.randint(1, 40))).decode(),
            "v1.Time": lambda: random.choice(("2026-01-02T03:04:05Z", "1969-12-31T23:59:59Z")),
            "v1.MicroTime": lambda: random.choice(("2026-01-02T03:04:05.678901Z", "1999-01-02T03:04:05.000000Z")),
            "resource.Quantity": lambda: random.choice(("0", "100m", "1Gi", "2")),
            "intstr.IntOrString": lambda: random.choice((0, 80, -1, "http", "25%")),
            "runtime.RawExtension": lambda: {"kind": "Any", "deep": [1, {"a": None}]},
            "v1.JSON": lambda: random.choice(({"a": 1}, [1], "text", 3, False)),
            "v1.FieldsV1": lambda: {"f:metadata": {"f:labels": {".": {}}}},
            "v1.JSONSchemaPropsOrArray": lambda: random.choice(
                (self.struct(schema, depth + 2), [self.struct(schema, depth + 2)])
            ),
            "v1.JSONSchemaPropsOrBool": lambda: random.choice((True, False, self.struct(schema, depth + 2))),
            "v1.JSONSchemaPropsOrStringArray": lambda: random.choice((["a", "b"], self.struct(schema, depth + 2))),
        }
        return makers[kind.kind]()


def _names(message: Message) -> set[str]:
    names = set()
    for each in message.fields:
        names |= {each.field.name} if each.field is not None else set()
        names |= _names(each.inlined) if each.inlined is not None else set()
    return names
