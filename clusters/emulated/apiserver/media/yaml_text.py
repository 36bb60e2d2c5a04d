"""YAML as Kubernetes reads it: YAML 1.1 words (`y`, `yes`, `on` are booleans), mappings with text keys,
no more aliases than a document can honestly need, and the parser's complaints in Go's words."""

from __future__ import annotations

import base64
import math
import re
from typing import Any

_BOOLEANS = {
    **dict.fromkeys(("y", "Y", "yes", "Yes", "YES", "on", "On", "ON", "true", "True", "TRUE"), True),
    **dict.fromkeys(("n", "N", "no", "No", "NO", "off", "Off", "OFF", "false", "False", "FALSE"), False),
}
_NULLS = frozenset(("", "~", "null", "Null", "NULL"))
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
_INT = re.compile(r"[-+]?[0-9][0-9_]*")
_NUMBER_MAX = 400
_ALIAS_RATIO_LOW = 0.99
_ALIAS_COUNT_MIN = 100


INVALID_ESCAPE = "found invalid Unicode character escape code"
TOO_DEEP = "yaml: exceeded max depth of 10000"


class YamlError(ValueError):
    """The text is no YAML that Kubernetes takes; the message is Go's (`yaml: line 1: …`)."""


class DuplicateKey(YamlError):
    """A mapping has a key twice; only strict reading minds."""


def loads(text: bytes, *, strict: bool = False) -> Any:
    """The first document of the text, as JSON values."""
    import yaml  # Only YAML bodies pay for it.

    try:
        decoded = text.decode("utf-8")
    except UnicodeDecodeError:
        raise YamlError("yaml: invalid leading UTF-8 octet") from None
    try:
        loader = yaml.SafeLoader(decoded)
        node = loader.get_node() if loader.check_node() else None
    except yaml.MarkedYAMLError as error:
        raise YamlError(_in_go_words(error)) from None
    except yaml.YAMLError as error:
        raise YamlError(f"yaml: {error}") from None
    except RecursionError:
        raise YamlError(TOO_DEEP) from None
    except (OverflowError, ValueError):  # The parser made a character of a number that is none.
        raise YamlError(_at_line(loader.get_mark().line, INVALID_ESCAPE)) from None
    return None if node is None else _read(node, strict, decoded)


def _read(node: Any, strict: bool, text: str) -> Any:
    try:
        return _Reader(strict, text).value(node)
    except RecursionError:
        raise YamlError(TOO_DEEP) from None


class _Reader:
    """Builds values from nodes, counting how much of the work aliases cause."""

    def __init__(self, strict: bool, text: str) -> None:
        self.strict = strict
        self.text = text
        self.nodes = 0
        self.from_aliases = 0
        self.seen: set[int] = set()
        self.repeating = 0
        self.open: set[int] = set()

    def value(self, node: Any) -> Any:
        again = id(node) in self.seen and not _is_scalar(node)
        self.seen.add(id(node))
        self.nodes += 1
        if again:
            self.repeating += 1
        if self.repeating:
            self.from_aliases += 1
            if (
                self.from_aliases > _ALIAS_COUNT_MIN
                and self.nodes > 1000
                and self.from_aliases / self.nodes > _allowed_alias_ratio(self.nodes)
            ):
                raise YamlError("yaml: document contains excessive aliasing")
        if id(node) in self.open:
            raise YamlError(f"yaml: anchor '{_anchor(node, self.text)}' value contains itself")
        self.open.add(id(node))
        try:
            return self._value(node)
        finally:
            self.open.discard(id(node))
            if again:
                self.repeating -= 1

    def _value(self, node: Any) -> Any:
        import yaml

        if isinstance(node, yaml.ScalarNode):
            return _scalar(node)
        if isinstance(node, yaml.SequenceNode):
            return [self.value(item) for item in node.value]
        result: dict[str, Any] = {}
        for key_node, value_node in node.value:
            key = _key(self.value(key_node))
            if key == "<<" and key_node.style is None:
                merged = self.value(value_node)
                for each in merged if isinstance(merged, list) else [merged]:
                    if isinstance(each, dict):
                        result = {**each, **result}
                continue
            if key in result and self.strict:
                line = key_node.start_mark.line + 1
                raise DuplicateKey(
                    "error converting YAML to JSON: yaml: unmarshal errors:\n"
                    f'  line {line}: key "{key}" already set in map'
                )
            result[key] = self.value(value_node)
        return result


def _anchor(node: Any, text: str) -> str:
    """Nodes forget the names of their anchors; the text still has them."""
    import yaml

    events = yaml.parse(text, yaml.SafeLoader)
    named = (each for each in events if isinstance(each, yaml.NodeEvent) and not isinstance(each, yaml.AliasEvent))
    marked = ((each.start_mark, each.anchor) for each in named)
    return next((str(name) for mark, name in marked if mark and mark.index == node.start_mark.index), "value")


def _is_scalar(node: Any) -> bool:
    return isinstance(node.value, str)


def _allowed_alias_ratio(nodes: int) -> float:
    """go-yaml allows 99 % of a small document to come from aliases and 10 % of a huge one."""
    low, high = 400_000, 4_000_000
    if nodes <= low:
        return _ALIAS_RATIO_LOW
    if nodes >= high:
        return 0.10
    return _ALIAS_RATIO_LOW - 0.89 * (nodes - low) / (high - low)


def _key(value: Any) -> str:
    if isinstance(value, str):
        return value
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (int, float)):
        return str(value)
    raise YamlError(f"error converting YAML to JSON: unsupported map key of type: {type(value).__name__}")


def _at_line(line: int, problem: str) -> str:
    """What the scanner complains about; `line` counts from 0, and the first is not named."""
    return f"yaml: line {line + 1}: {problem}" if line else f"yaml: {problem}"


def _has_surrogates(text: str) -> bool:
    return not text.isascii() and any("\ud800" <= each <= "\udfff" for each in text)


def _scalar(node: Any) -> Any:
    text: str = node.value
    if _has_surrogates(text):
        raise YamlError(_at_line(node.start_mark.line, INVALID_ESCAPE))
    if node.tag == "tag:yaml.org,2002:binary":
        try:
            return base64.b64decode(text).decode("utf-8", "replace")
        except ValueError:
            raise YamlError("yaml: !!binary value contains invalid base64 data") from None
    if node.style is not None or (node.tag == "tag:yaml.org,2002:str" and text not in _BOOLEANS):
        return text
    if text in _NULLS:
        return None
    if text in _BOOLEANS:
        return _BOOLEANS[text]
    return _number(text)


def _number(text: str) -> Any:
    plain = text.replace("_", "")
    if len(plain) > _NUMBER_MAX:
        return text  # Beyond every number of 64 bits, so it stays a text.
    if _INT.fullmatch(text):
        digits = plain.lstrip("+-")
        if len(digits) > 1 and digits[0] == "0" and all(digit in "01234567" for digit in digits):
            return int(plain, 8)
        return int(plain) if digits == "0" or digits[0] != "0" else float(plain)
    lower = plain.lower()
    for prefix, base in (("0x", 16), ("0b", 2), ("0o", 8)):
        if lower.lstrip("+-").startswith(prefix):
            try:
                return int(lower, base)
            except ValueError:
                return text
    if _FLOAT.fullmatch(plain) and any(character.isdigit() for character in plain):
        return float(plain)
    if lower in (".inf", "+.inf"):
        return math.inf
    return -math.inf if lower == "-.inf" else text


def _in_go_words(error: Any) -> str:
    problem = error.problem or "unknown problem parsing YAML content"
    for pattern, words in _GO_WORDS:
        problem, found = re.subn(pattern, words, problem)
        if found:
            break
    if problem.startswith("unknown anchor"):
        return f"yaml: {problem}"
    # Go counts lines from 0, does not name the first one, and adds one to what its scanner complains about.
    line, context = (0 if mark is None else mark.line for mark in (error.problem_mark, error.context_mark))
    if line and type(error).__name__ == "ScannerError":
        line += 1
    line = line or context
    return f"yaml: line {line}: {problem}" if line else f"yaml: {problem}"


_GO_WORDS = (
    (r"^expected ',' or '([\]}])', but got .*", r"did not find expected ',' or '\1'"),
    (r"^expected <block end>, but found '?-.*", "did not find expected '-' indicator"),
    (r"^expected <block end>, but found .*", "did not find expected key"),
    (r"^expected the node content, but found .*", "did not find expected node content"),
    (r"^expected '<document start>', but found .*", "did not find expected <document start>"),
    (r"^expected (alphabetic or numeric character), but found .*", r"did not find expected \1"),
    (r"^found character .* that cannot start any token", "found character that cannot start any token"),
    (r"^found unknown escape character .*", "found unknown escape character"),
    (r"^mapping values are not allowed here", "mapping values are not allowed in this context"),
    (r"^found undefined alias '?([^']*)'?", r"unknown anchor '\1' referenced"),
)


def dumps(value: Any) -> bytes:
    """YAML with sorted keys, as `kubectl -o yaml` and an Accept of application/yaml show it."""
    import yaml

    dumped: str = yaml.dump(value, Dumper=_dumper(), default_flow_style=False, sort_keys=True, allow_unicode=True)
    return dumped.encode()


def _dumper() -> Any:
    import yaml

    class Dumper(yaml.SafeDumper):
        """Texts with line breaks as blocks; a class of its own, because representers belong to the class."""

    def is_ambiguous(dumper: Any, value: str) -> bool:
        """Whether a reader would take the bare text for something else: a number, a time, a boolean."""
        if value in _BOOLEANS or value in _NULLS or _FLOAT.fullmatch(value) or _INT.fullmatch(value):
            return True
        tag: str = dumper.resolve(yaml.ScalarNode, value, (True, False))
        return tag.rpartition(":")[2] in ("int", "float", "timestamp", "merge", "null", "bool")

    def text(dumper: Any, value: str) -> Any:
        style = "|" if "\n" in value else '"' if is_ambiguous(dumper, value) else None
        return dumper.represent_scalar("tag:yaml.org,2002:str", value, style=style)

    Dumper.add_representer(str, text)
    return Dumper
