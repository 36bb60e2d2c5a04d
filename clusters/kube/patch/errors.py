"""What a patch that cannot be applied says, and how the api-server answers it."""

from __future__ import annotations

import math
from typing import Any, Literal, TypeAlias

from clusters.kube.errors import StatusError, bad_request, generic, unknown

#: `malformed`: this is no patch (400 with the text). `unprocessable`: it does not fit the object (422, the
#: text is not shown). `internal`: the api-server has no word for it (500 with the text).
PatchErrorKind: TypeAlias = Literal["malformed", "unprocessable", "internal"]


class PatchError(ValueError):
    """The patch cannot be applied. The webhook chain shows `text`, the PATCH handler `status_error()`."""

    def __init__(self, text: str, kind: PatchErrorKind) -> None:
        super().__init__(text)
        self.text = text
        self.kind: PatchErrorKind = kind

    def status_error(self) -> StatusError:
        if self.kind == "malformed":
            return bad_request(self.text)
        return generic(422) if self.kind == "unprocessable" else unknown(self.text)


def json_kind(value: Any) -> str:
    """What encoding/json calls a value: `cannot unmarshal object into …`."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "bool"
    if isinstance(value, (int, float)):
        return "number"
    if isinstance(value, str):
        return "string"
    return "array" if isinstance(value, list) else "object"


def go_type(value: Any) -> str:
    """`%T` of a decoded JSON value."""
    if value is None:
        return "%!s(<nil>)"
    if isinstance(value, bool):
        return "bool"
    names: dict[Any, str] = {int: "int64", float: "float64", str: "string", list: "[]interface {}"}
    return names.get(type(value), "map[string]interface {}")


def go_value(value: Any) -> str:
    """`%v` of a decoded JSON value: `map[a:1 b:[x y]]`."""
    if value is None:
        return "<nil>"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, dict):
        return "map[" + " ".join(f"{key}:{go_value(value[key])}" for key in sorted(value)) + "]"
    if isinstance(value, list):
        return "[" + " ".join(go_value(item) for item in value) + "]"
    if isinstance(value, float):
        return _go_float(value)
    return str(value)


def _go_float(value: float) -> str:
    """`%v` of a float64: the shortest text, with an exponent from 1e+21 on and below 1e-05."""
    if value == math.trunc(value) and abs(value) < 1e21:
        return str(int(value))
    text = repr(value)
    mantissa, e, exponent = text.partition("e")
    return f"{mantissa}e{exponent[0]}{int(exponent[1:]):02d}" if e else text
