"""Named formats: ``format.dns1123Label().validate(name)`` and the rest, with apimachinery's messages."""

from __future__ import annotations

import binascii
import re
from base64 import b64decode
from collections.abc import Callable, Mapping, Sequence
from datetime import date

from clusters.kube.cel import types as t
from clusters.kube.cel.declarations import Row
from clusters.kube.cel.values import NONE, Opaque, Optional

_LABEL = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_SUBDOMAIN = rf"{_LABEL}(\.{_LABEL})*"
_LABEL_1035 = "[a-z]([-a-z0-9]*[a-z0-9])?"
_QUALIFIED = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"
_VALUE = f"({_QUALIFIED})?"
_UUID = re.compile(r"(?i)[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}\Z")
_DATETIME = re.compile(
    r"(?i)([0-9]{4})-([0-9]{2})-([0-9]{2})t([0-9]{2}):([0-9]{2}):([0-9]{2})(\.[0-9]+)?(z|([+-][0-9]{2}:[0-9]{2}))\Z"
)

_LABEL_MESSAGE = (
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with"
    " an alphanumeric character"
)
_SUBDOMAIN_MESSAGE = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and"
    " end with an alphanumeric character"
)
_LABEL_1035_MESSAGE = (
    "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character,"
    " and end with an alphanumeric character"
)
_QUALIFIED_MESSAGE = (
    "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character"
)
_VALUE_MESSAGE = (
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and"
    " end with an alphanumeric character"
)


def regex_error(message: str, pattern: str, *examples: str) -> str:
    """Kubernetes' way to say what a value should look like."""
    if not examples:
        return f"{message} (regex used for validation is '{pattern}')"
    shown = " or ".join(f"'{example}', " for example in examples)
    return f"{message} (e.g. {shown}regex used for validation is '{pattern}')"


def _limited(value: str, limit: int) -> list[str]:
    return [f"must be no more than {limit} bytes"] if len(value.encode()) > limit else []


def _dns(pattern: str, limit: int, message: str, *examples: str) -> Callable[[str], list[str]]:
    compiled = re.compile(pattern + r"\Z")

    def check(value: str) -> list[str]:
        errors = _limited(value, limit)
        if not compiled.match(value):
            errors.append(regex_error(message, pattern, *examples))
        return errors

    return check


def _prefix(check: Callable[[str], list[str]]) -> Callable[[str], list[str]]:
    """The same for a generateName: a trailing dash will be followed by more."""

    def masked(value: str) -> list[str]:
        return check(value[:-2] + "a" if len(value) > 1 and value.endswith("-") else value)

    return masked


def _qualified_name(value: str) -> list[str]:
    parts = value.split("/")
    errors: list[str] = []
    if len(parts) == 2:
        if not parts[0]:
            errors.append("prefix part must be non-empty")
        else:
            errors += [f"prefix part {message}" for message in dns1123_subdomain(parts[0])]
    elif len(parts) > 2:
        example = regex_error(_QUALIFIED_MESSAGE, _QUALIFIED, "MyName", "my.name", "123-abc")
        return [
            f"a valid label key {example} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"
        ]
    name = parts[-1]
    if not name:
        errors.append("name part must be non-empty")
    elif len(name.encode()) > 63:
        errors.append("name part must be no more than 63 bytes")
    if not re.match(_QUALIFIED + r"\Z", name):
        errors.append("name part " + regex_error(_QUALIFIED_MESSAGE, _QUALIFIED, "MyName", "my.name", "123-abc"))
    return errors


def _uri(value: str) -> list[str]:
    from clusters.kube.cel.library.urls import URLError, parse_request_uri

    try:
        parse_request_uri(value)
    except URLError as error:
        return [str(error)]
    return []


def _uuid(value: str) -> list[str]:
    return [] if _UUID.match(value) else ["does not match the UUID format"]


def _byte(value: str) -> list[str]:
    try:
        b64decode(value, validate=True)
    except (binascii.Error, ValueError):
        return ["invalid base64"]
    return []


def is_date(value: str) -> bool:
    if not re.match(r"\d{4}-\d\d-\d\d\Z", value, re.ASCII):
        return False
    try:
        date.fromisoformat(value)
    except ValueError:
        return False
    return True


def is_datetime(value: str) -> bool:
    match = _DATETIME.match(value)
    if match is None or not is_date(value[:10]):
        return False
    return int(match.group(4)) < 24 and int(match.group(5)) < 60 and int(match.group(6)) < 60


dns1123_label = _dns(_LABEL, 63, _LABEL_MESSAGE, "my-name", "123-abc")
dns1123_subdomain = _dns(_SUBDOMAIN, 253, _SUBDOMAIN_MESSAGE, "example.com")
dns1035_label = _dns(_LABEL_1035, 63, _LABEL_1035_MESSAGE, "my-name", "abc-123")
label_value = _dns(_VALUE, 63, _VALUE_MESSAGE, "MyValue", "my_value", "12345")


class NamedFormat(Opaque):
    __slots__ = ("check", "max_regex_size", "name")
    cel_type = t.NAMED_FORMAT

    def __init__(self, name: str, check: Callable[[str], list[str]], max_regex_size: int) -> None:
        self.name = name
        self.check = check
        self.max_regex_size = max_regex_size

    def equals(self, other: object) -> bool:
        return isinstance(other, NamedFormat) and self.name == other.name


FORMATS: Mapping[str, NamedFormat] = {
    "dns1123Label": NamedFormat("DNS1123Label", dns1123_label, 30),
    "dns1123Subdomain": NamedFormat("DNS1123Subdomain", dns1123_subdomain, 60),
    "dns1035Label": NamedFormat("DNS1035Label", dns1035_label, 30),
    "qualifiedName": NamedFormat("QualifiedName", _qualified_name, 60),
    "dns1123LabelPrefix": NamedFormat("DNS1123LabelPrefix", _prefix(dns1123_label), 30),
    "dns1123SubdomainPrefix": NamedFormat("DNS1123SubdomainPrefix", _prefix(dns1123_subdomain), 60),
    "dns1035LabelPrefix": NamedFormat("DNS1035LabelPrefix", _prefix(dns1035_label), 30),
    "labelValue": NamedFormat("LabelValue", label_value, 40),
    "uri": NamedFormat("URI", _uri, 1103),
    "uuid": NamedFormat("uuid", _uuid, 70),
    "byte": NamedFormat("byte", _byte, 84),
    "date": NamedFormat("date", lambda value: [] if is_date(value) else ["invalid date"], 71),
    "datetime": NamedFormat("datetime", lambda value: [] if is_datetime(value) else ["invalid datetime"], 71),
}


def _named(name: str) -> Optional:
    found = FORMATS.get(name)
    return NONE if found is None else Optional(found)


def _validate(format_: NamedFormat, value: str) -> Optional:
    errors = format_.check(value)
    return Optional(errors) if errors else NONE


def _constant(format_: NamedFormat) -> Callable[[], NamedFormat]:
    return lambda: format_


FUNCTIONS: Mapping[str, Sequence[Row]] = {
    "format.named": [("format-named", "(string): optional<Format>", _named)],
    "validate": [("format-validate", "Format.(string): optional<list<string>>", _validate)],
    **{f"format.{name}": [(f"format.{name}", "(): Format", _constant(format_))] for name, format_ in FORMATS.items()},
}
