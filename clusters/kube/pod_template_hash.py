"""The hash of a Pod template, as the names and labels of ReplicaSets carry it.

    >>> template_hash({"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [{"name": "nginx", ...}]}})
    '7887448d46'

Kubernetes hashes what a printer of Go values makes of the template: the names and types of all fields of the Go
structs, also of the unset ones. `pod_template_types.json` holds those names; it is read on the first use.
"""

from __future__ import annotations

import json
import re
import struct
from collections.abc import Callable, Mapping
from functools import lru_cache
from importlib import resources
from typing import Any, Final

from clusters.kube import quantity

Printer = Callable[[Any], str]

_ALPHABET: Final = "bcdfghjklmnpqrstvwxz2456789"
_DIGITS: Final = str.maketrans({chr(code): _ALPHABET[code % len(_ALPHABET)] for code in range(ord("0"), ord("9") + 1)})
_FNV_OFFSET: Final = 2166136261
_FNV_PRIME: Final = 16777619
_ZERO_TIME: Final = "{Time:(time.Time){wall:(uint64)0 ext:(int64)0 loc:(*time.Location)<nil>}}"


def template_hash(template: Mapping[str, Any], collision_count: int | None = None) -> str:
    """What `pod-template-hash` is for this template; another one for each count of collisions."""
    return encoded(fnv_32a(template_text(template).encode() + collision_bytes(collision_count)))


def collision_bytes(collision_count: int | None) -> bytes:
    return b"" if collision_count is None else struct.pack("<II", collision_count, 0)


def encoded(number: int) -> str:
    """Decimal digits in the letters of generated names."""
    return str(number).translate(_DIGITS)


def fnv_32a(data: bytes) -> int:
    value = _FNV_OFFSET
    for byte in data:
        value = (value ^ byte) * _FNV_PRIME & 0xFFFFFFFF
    return value


def fnv_32(data: bytes) -> int:
    value = _FNV_OFFSET
    for byte in data:
        value = value * _FNV_PRIME & 0xFFFFFFFF ^ byte
    return value


def template_text(template: Mapping[str, Any]) -> str:
    """What is hashed."""
    name = "v1.PodTemplateSpec"
    return f"({name}){_struct_printer(name)(template)}"


@lru_cache(maxsize=1)
def _types() -> dict[str, list[list[Any]]]:
    text = resources.files(__package__).joinpath("pod_template_types.json").read_text()
    types: dict[str, list[list[Any]]] = json.loads(text)
    return types


@lru_cache(maxsize=1024)
def _struct_printer(name: str) -> Printer:
    parts: list[tuple[str, str, Printer]] = []
    for go_name, json_name, described in _types()[name]:
        type_name, printer = _printer(described)
        parts.append((f"{go_name}:({type_name})", json_name, printer))

    def show(value: Any) -> str:
        found = value or {}
        # Embedded structs have no name of their own in JSON: their fields stand among ours.
        shown = [start + printer(found.get(name) if name else found) for start, name, printer in parts]
        return "{" + " ".join(shown) + "}"

    return show


def _printer(described: list[Any]) -> tuple[str, Printer]:
    """The name of a Go type, and how its values print, None being the zero value."""
    kind, *rest = described
    if kind == "p":
        type_name, show = _printer(rest[0])
        return f"*{type_name}", lambda value: "<nil>" if value is None else show(value)
    if kind == "l":
        _, show_item = _printer(rest[1])
        return rest[0], lambda value: f"[{' '.join(map(show_item, value))}]" if value else "<nil>"
    if kind == "m":
        _, show_value = _printer(rest[1])
        return rest[0], lambda value: _map(value, show_value)
    if kind == "S":
        # Looked up when it is needed: structs may contain themselves.
        return rest[0], lambda value: _struct_printer(rest[0])(value)
    return _SCALARS[kind](*rest)


def _map(value: Mapping[str, Any] | None, show: Printer) -> str:
    if not value:
        return "<nil>"
    # Go compares strings by their bytes.
    entries = [f"{key}:{show(value[key])}" for key in sorted(value, key=str.encode)]
    return f"map[{' '.join(entries)}]"


def _bytes(value: str | None) -> str:
    return f"[{' '.join(map(str, value.encode()))}]" if value else "<nil>"


def _int_or_string(value: int | str | None) -> str:
    text = value if isinstance(value, str) else ""
    number = 0 if value is None or isinstance(value, str) else value
    return f"{{Type:(intstr.Type){int(isinstance(value, str))} IntVal:(int32){number} StrVal:(string){text}}}"


_SCALARS: Final[dict[str, Callable[..., tuple[str, Printer]]]] = {
    "s": lambda name: (name, lambda value: value or ""),
    "b": lambda name: (name, lambda value: "true" if value else "false"),
    "i": lambda name: (name, lambda value: str(value or 0)),
    "B": lambda name: (name, _bytes),
    "t": lambda: ("v1.Time", lambda _: _ZERO_TIME),
    "x": lambda: ("intstr.IntOrString", _int_or_string),
    "q": lambda: ("resource.Quantity", _quantity),
}


# Quantities

_MAX_DIGITS: Final = 18
_leading_digits = re.compile(r"-?(\d+)").match


def _quantity(value: str | int | float | None) -> str:
    """The private fields of a Quantity that was parsed from its canonical text.

    `8Gi` does not keep its text and `5Gi` does, `100000Gi` is kept as a big decimal: whatever shortcut the parser
    of Kubernetes took is part of the hash.
    """
    if value is None:
        return _quantity_fields(0, 0, "", "", None)
    text = quantity.canonical(str(value))
    parsed = quantity.parse(text)
    found = _leading_digits(text)
    assert found is not None, f"{text!r} is canonical"
    digits = found[1]
    if parsed.format == quantity.BINARY_SI:
        unit = parsed.unscaled // int(found[0]) if parsed.unscaled else 1
        fits = 14 - len(digits) - (unit.bit_length() - 1) * 3 // 10 >= 0
        kept = int(digits) & 7 != 0
    else:
        fits = len(digits) <= _MAX_DIGITS
        kept = text == "0" or not digits.endswith("000")
    if not fits:
        return _quantity_fields(0, 0, "", parsed.format, parsed)
    return _quantity_fields(parsed.unscaled, parsed.scale, text if kept else "", parsed.format, None)


def _quantity_fields(amount: int, scale: int, text: str, format: str, large: quantity.Quantity | None) -> str:
    decimal = "<nil>" if large is None else _infinite(large)
    return (
        f"{{i:(resource.int64Amount){{value:(int64){amount} scale:(resource.Scale){scale}}} "
        f"d:(resource.infDecAmount){{Dec:(*inf.Dec){decimal}}} s:(string){text} Format:(resource.Format){format}}}"
    )


def _infinite(value: quantity.Quantity) -> str:
    """An inf.Dec: what does not fit 64 bits is kept in nanos."""
    nanos = value.nanos
    words, rest = [], abs(nanos)
    while rest:
        words.append(str(rest & 0xFFFFFFFFFFFFFFFF))
        rest >>= 64
    negative = "true" if nanos < 0 else "false"
    return f"{{unscaled:(big.Int){{neg:(bool){negative} abs:(big.nat)[{' '.join(words)}]}} scale:(inf.Scale)9}}"
