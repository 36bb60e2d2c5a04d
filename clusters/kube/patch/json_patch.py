"""RFC 6902 as the library in the api-server does it, with its texts.

It is laxer than the RFC in two ways that clients rely on: `replace` of a missing map key adds it, and a
negative list index counts from the end.

    >>> apply({"data": {"a": "1"}}, [{"op": "add", "path": "/data/b", "value": "2"}])
    {'data': {'a': '1', 'b': '2'}}
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, TypeAlias

from clusters.kube.gostring import quote
from clusters.kube.patch.errors import PatchError, json_kind

Operation: TypeAlias = dict[str, Any]

_INDEX = re.compile(r"[+-]?[0-9]+")
_INT64_MAX = 2**63 - 1
_MEMBERS = ("op", "path", "from", "value")


def operations(patch: Any, *, strict: bool = True) -> tuple[list[Operation], list[str]]:
    """The patch's operations, and what a strict decoder reports about them (unknown members).

    `strict` is whether field validation is Warn or Strict: then the api-server decodes the patch with its
    own type first, and that decoder's complaint comes first.
    """
    name, prefix = ("[]handlers.jsonPatchOp", "error decoding patch: ") if strict else ("jsonpatch.Patch", "")
    if patch is None:
        return [], []
    if not isinstance(patch, list):
        text = f"json: cannot unmarshal {json_kind(patch)} into Go value of type {name}"
        raise PatchError(prefix + text, "malformed")
    element = "handlers.jsonPatchOp" if strict else "jsonpatch.Operation"
    problems = []
    for position, operation in enumerate(patch):
        if operation is None:
            continue
        if not isinstance(operation, dict):
            text = f"json: cannot unmarshal {json_kind(operation)} into Go value of type {element}"
            raise PatchError(prefix + text, "malformed")
        if not strict:
            continue
        for member, value in operation.items():
            if member not in _MEMBERS:
                problems.append(f"json patch unknown field {quote(f'[{position}].{member}')}")
            elif member != "value" and value is not None and not isinstance(value, str):
                text = (
                    f"json: cannot unmarshal {json_kind(value)} into Go struct field "
                    f"jsonPatchOp.{member} of type string"
                )
                raise PatchError(prefix + text, "malformed")
    return [operation or {} for operation in patch], problems


def apply(document: Any, patch: list[Operation]) -> Any:
    """The patched document. Containers on a path are copied, so neither argument ever changes."""
    for operation in patch:
        kind = operation.get("op")
        handler = _HANDLERS.get(kind) if isinstance(kind, str) else None
        if handler is None:
            raise _fails(f"Unexpected kind: {kind if isinstance(kind, str) else 'unknown'}")
        document = handler(document, operation)
    return document


def _fails(text: str) -> PatchError:
    return PatchError(text, "unprocessable")


class _BadKeyError(Exception):
    """A key that this container does not take; the text goes into the operation's own message."""


def _index(key: str) -> int:
    if not _INDEX.fullmatch(key):
        raise _BadKeyError(f"strconv.Atoi: parsing {quote(key)}: invalid syntax")
    number = int(key)
    if not -_INT64_MAX - 1 <= number <= _INT64_MAX:
        raise _BadKeyError(f"strconv.Atoi: parsing {quote(key)}: value out of range")
    return number


def _within(number: int, length: int) -> int:
    if not -length <= number < length:
        raise _BadKeyError(f"Unable to access invalid index: {number}: invalid index referenced")
    return number + length if number < 0 else number


def _get(container: Any, key: str) -> Any:
    if isinstance(container, dict):
        return container.get(key)
    return container[_within(_index(key), len(container))]


def _tokens(path: str) -> list[str] | None:
    parts = path.split("/")
    if len(parts) < 2:
        return None
    if "~" not in path:
        return parts[1:]
    # One pass from the left, so that `~01` is `~1` and not `/`.
    return [re.sub("~[01]", lambda found: "/" if found[0] == "~1" else "~", part) for part in parts[1:]]


def _find(document: Any, path: str) -> tuple[Any, str] | None:
    """The container that the path's last token points into, or None where the way there is missing."""
    tokens = _tokens(path)
    if tokens is None:
        return None
    container = document
    for token in tokens[:-1]:
        try:
            container = _get(container, token)
        except _BadKeyError:
            return None
        if not isinstance(container, (dict, list)):
            return None
    return container, tokens[-1]


def _with(document: Any, path: str, changed: Any) -> Any:
    """The document with the path's container replaced; only containers on the way are copied."""
    tokens = (_tokens(path) or [])[:-1]
    way = [document]
    for token in tokens:
        way.append(_get(way[-1], token))
    for container, token in zip(reversed(way[:-1]), reversed(tokens), strict=True):
        copied = container.copy()
        if isinstance(copied, dict):
            copied[token] = changed
        else:
            copied[_within(_index(token), len(copied))] = changed
        changed = copied
    return changed


def _inserted(container: Any, key: str, value: Any) -> Any:
    if isinstance(container, dict):
        return {**container, key: value}
    if key == "-":
        return [*container, value]
    try:
        number = _index(key)
    except _BadKeyError as error:
        raise _BadKeyError(f"value was not a proper array index: '{key}': {error}") from error
    place = _within(number, len(container) + 1)
    return [*container[:place], value, *container[place:]]


def _without(container: Any, key: str) -> Any:
    if isinstance(container, dict):
        if key not in container:
            raise _BadKeyError(f"Unable to remove nonexistent key: {key}: missing value")
        return {name: value for name, value in container.items() if name != key}
    place = _within(_index(key), len(container))
    return [*container[:place], *container[place + 1 :]]


def _path(operation: Operation, member: str, message: str, *, named: bool) -> str:
    """The operation's `path` or `from`; `named` is whether the message says which one is missing."""
    value = operation.get(member)
    if isinstance(value, str):
        return value
    if not named:
        raise _fails(f"{message}: missing value")
    if value is not None:
        raise _fails(f"{message}: json: cannot unmarshal {json_kind(value)} into Go value of type string")
    missing = "operation missing path field" if member == "path" else "operation, missing from field"
    raise _fails(f"{message}: {missing}: missing value")


def _add(document: Any, operation: Operation) -> Any:
    path = _path(operation, "path", "add operation failed to decode path", named=False)
    found = _find(document, path)
    if found is None:
        raise _fails(f'add operation does not apply: doc is missing path: "{path}": missing value')
    try:
        return _with(document, path, _inserted(*found, operation.get("value")))
    except _BadKeyError as error:
        raise _fails(f"error in add for path: '{path}': {error}") from error


def _remove(document: Any, operation: Operation) -> Any:
    path = _path(operation, "path", "remove operation failed to decode path", named=False)
    found = _find(document, path)
    if found is None:
        raise _fails(f'remove operation does not apply: doc is missing path: "{path}": missing value')
    try:
        return _with(document, path, _without(*found))
    except _BadKeyError as error:
        raise _fails(f"error in remove for path: '{path}': {error}") from error


def _replace(document: Any, operation: Operation) -> Any:
    path = _path(operation, "path", "replace operation failed to decode path", named=True)
    value = operation.get("value")
    if path == "":
        if not isinstance(value, (dict, list)):
            raise _fails("replace operation value must be object or array: %!w(<nil>)")
        return value
    found = _find(document, path)
    if found is None:
        raise _fails(f"replace operation does not apply: doc is missing path: {path}: missing value")
    container, key = found
    if isinstance(container, dict):
        return _with(document, path, {**container, key: value})
    try:
        place = _within(_index(key), len(container))
    except _BadKeyError as error:
        text = f"replace operation does not apply: doc is missing key: {path}: missing value"
        raise _fails(text) from error
    return _with(document, path, [*container[:place], value, *container[place + 1 :]])


def _move(document: Any, operation: Operation) -> Any:
    source = _path(operation, "from", "move operation failed to decode from", named=True)
    found = _find(document, source)
    if found is None:
        raise _fails(f"move operation does not apply: doc is missing from path: {source}: missing value")
    try:
        value = _get(*found)
        document = _with(document, source, _without(*found))
    except _BadKeyError as error:
        raise _fails(f"error in move for path: '{found[1]}': {error}") from error
    path = _path(operation, "path", "move operation failed to decode path", named=True)
    found = _find(document, path)
    if found is None:
        raise _fails(f"move operation does not apply: doc is missing destination path: {path}: missing value")
    try:
        return _with(document, path, _inserted(*found, value))
    except _BadKeyError as error:
        raise _fails(f"error in move for path: '{path}': {error}") from error


def _copy(document: Any, operation: Operation) -> Any:
    source = _path(operation, "from", "copy operation failed to decode from", named=True)
    found = _find(document, source)
    if found is None:
        raise _fails(f"copy operation does not apply: doc is missing from path: {source}: missing value")
    try:
        value = _get(*found)
    except _BadKeyError as error:
        raise _fails(f"error in copy for from: '{source}': {error}") from error
    path = _path(operation, "path", "copy operation failed to decode path", named=False)
    found = _find(document, path)
    if found is None:
        raise _fails(f"copy operation does not apply: doc is missing destination path: {path}: missing value")
    try:
        return _with(document, path, _inserted(*found, value))
    except _BadKeyError as error:
        raise _fails(f"error while adding value during copy: {error}") from error


def _test(document: Any, operation: Operation) -> Any:
    path = _path(operation, "path", "test operation failed to decode path", named=True)
    if path == "":
        value = document
    else:
        found = _find(document, path)
        if found is None:
            raise _fails(f"test operation does not apply: is missing path: {path}: missing value")
        try:
            value = _get(*found)
        except _BadKeyError as error:
            raise _fails(f"error in test for path: '{path}': {error}") from error
    if not _same(value, operation.get("value")):
        raise _fails(f"testing value {path} failed: test failed")
    return document


def _same(left: Any, right: Any) -> bool:
    """Equality of JSON texts: 1 is neither 1.0 nor true."""
    if type(left) is not type(right):
        return False
    if isinstance(left, dict):
        return left.keys() == right.keys() and all(_same(left[key], right[key]) for key in left)
    if isinstance(left, list):
        return len(left) == len(right) and all(map(_same, left, right))
    return bool(left == right)


_HANDLERS: dict[str, Callable[[Any, Operation], Any]] = {
    "add": _add, "remove": _remove, "replace": _replace, "move": _move, "copy": _copy, "test": _test,
}  # fmt: skip
