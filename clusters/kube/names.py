"""Which strings are names: DNS labels and subdomains, label keys and values, port names, config keys.

Every rule returns the texts Kubernetes gives for a bad value, empty for a good one:

    >>> dns_label("web")
    []
    >>> dns_label("a.b")
    ['must not contain dots']

Rules that take `prefix` accept the beginning of a name (generateName), which may end with a dash.
"""

from __future__ import annotations

import re

_LABEL = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_SUBDOMAIN = _LABEL + r"(\." + _LABEL + ")*"
_LABEL_UNDERSCORE = "_?[a-z0-9]([-_a-z0-9]*[a-z0-9])?"
_SUBDOMAIN_UNDERSCORE = _LABEL_UNDERSCORE + r"(\." + _LABEL_UNDERSCORE + ")*"
_DNS1035 = "[a-z]([-a-z0-9]*[a-z0-9])?"
_WILDCARD = r"\*\." + _SUBDOMAIN
_LABEL_KEY = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"
_LABEL_VALUE = f"({_LABEL_KEY})?"
_C_IDENTIFIER = "[A-Za-z_][A-Za-z0-9_]*"
_PERCENT = "[0-9]+%"
_HTTP_HEADER = "[-A-Za-z0-9]+"
_CONFIG_KEY = "[-._a-zA-Z0-9]+"
_ENV_NAME = "[-._a-zA-Z][-._a-zA-Z0-9]*"
_HTTP_PATH = r"[A-Za-z0-9/\-._~%!$&'()*+,;=:]+"

_is_label = re.compile(_LABEL).fullmatch
_is_subdomain = re.compile(_SUBDOMAIN).fullmatch
_is_subdomain_underscore = re.compile(_SUBDOMAIN_UNDERSCORE).fullmatch
_is_subdomain_caseless = re.compile(_SUBDOMAIN, re.IGNORECASE | re.ASCII).fullmatch
_is_dns1035 = re.compile(_DNS1035).fullmatch
_is_wildcard = re.compile(_WILDCARD).fullmatch
_is_label_key = re.compile(_LABEL_KEY).fullmatch
_is_label_value = re.compile(_LABEL_VALUE).fullmatch
_is_c_identifier = re.compile(_C_IDENTIFIER).fullmatch
_is_percent = re.compile(_PERCENT).fullmatch
_is_http_header = re.compile(_HTTP_HEADER).fullmatch
_is_config_key = re.compile(_CONFIG_KEY).fullmatch
_is_env_name = re.compile(_ENV_NAME).fullmatch
_is_http_path = re.compile(_HTTP_PATH).fullmatch
_is_port_charset = re.compile("[-a-z0-9]+").fullmatch
_has_letter = re.compile("[a-z]").search

LABEL_MAX = 63
SUBDOMAIN_MAX = 253
NEGATIVE = "must be greater than or equal to 0"


def size(value: str) -> int:
    """Length in bytes, which is what Go's len counts."""
    return len(value) if value.isascii() else len(value.encode("utf-8", "surrogateescape"))


def regex_error(message: str, pattern: str, *examples: str) -> str:
    if not examples:
        return f"{message} (regex used for validation is '{pattern}')"
    listed = " or ".join(f"'{example}', " for example in examples)
    return f"{message} (e.g. {listed}regex used for validation is '{pattern}')"


def max_length_error(length: int) -> str:
    return f"must be no more than {length} characters"


def max_bytes_error(length: int) -> str:
    return f"must be no more than {length} bytes"


def range_error(low: int, high: int) -> str:
    return f"must be between {low} and {high}, inclusive"


def _mask_trailing_dash(name: str) -> str:
    # A generated suffix follows the dash, so the dash itself may stand last here.
    return name[:-2] + "a" if len(name) > 1 and name.endswith("-") else name


_LABEL_ERROR = regex_error(
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', "
    "and must start and end with an alphanumeric character",
    _LABEL, "my-name", "123-abc",
)  # fmt: skip
_SUBDOMAIN_ERROR = regex_error(
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', "
    "and must start and end with an alphanumeric character",
    _SUBDOMAIN, "example.com",
)  # fmt: skip
_SUBDOMAIN_UNDERSCORE_ERROR = regex_error(
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '_', '-' or '.', "
    "and must start and end with an alphanumeric character",
    _SUBDOMAIN_UNDERSCORE, "example.com",
)  # fmt: skip
_SUBDOMAIN_CASELESS_ERROR = regex_error(
    "an RFC 1123 subdomain must consist of alphanumeric characters, '-' or '.', "
    "and must start and end with an alphanumeric character",
    _SUBDOMAIN, "Example.com",
)  # fmt: skip
_DNS1035_ERROR = regex_error(
    "a DNS-1035 label must consist of lower case alphanumeric characters or '-', "
    "start with an alphabetic character, and end with an alphanumeric character",
    _DNS1035, "my-name", "abc-123",
)  # fmt: skip
_WILDCARD_ERROR = regex_error(
    "a wildcard DNS-1123 subdomain must start with '*.', followed by a valid DNS subdomain, "
    "which must consist of lower case alphanumeric characters, '-' or '.' and end with an alphanumeric character",
    _WILDCARD, "*.example.com",
)  # fmt: skip
_LABEL_KEY_ERROR = regex_error(
    "must consist of alphanumeric characters, '-', '_' or '.', "
    "and must start and end with an alphanumeric character",
    _LABEL_KEY, "MyName", "my.name", "123-abc",
)  # fmt: skip
_LABEL_VALUE_ERROR = regex_error(
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', "
    "and must start and end with an alphanumeric character",
    _LABEL_VALUE, "MyValue", "my_value", "12345",
)  # fmt: skip
_C_IDENTIFIER_ERROR = regex_error(
    "a valid C identifier must start with alphabetic character or '_', "
    "followed by a string of alphanumeric characters or '_'",
    _C_IDENTIFIER, "my_name", "MY_NAME", "MyName",
)  # fmt: skip
_PERCENT_ERROR = regex_error(
    "a valid percent string must be a numeric string followed by an ending '%'", _PERCENT, "1%", "93%"
)
_HTTP_HEADER_ERROR = regex_error(
    "a valid HTTP header must consist of alphanumeric characters or '-'", _HTTP_HEADER, "X-Header-Name"
)
_CONFIG_KEY_ERROR = regex_error(
    "a valid config key must consist of alphanumeric characters, '-', '_' or '.'",
    _CONFIG_KEY, "key.name", "KEY_NAME", "key-name",
)  # fmt: skip
_ENV_NAME_ERROR = regex_error(
    "a valid environment variable name must consist of alphabetic characters, digits, '_', '-', or '.', "
    "and must not start with a digit",
    _ENV_NAME, "my.env-name", "MY_ENV.NAME", "MyEnvName1",
)  # fmt: skip
_RELAXED_ENV_NAME_ERROR = (
    "a valid environment variable name must consist only of printable ASCII characters other than '='"
)


def dns_label(name: str, prefix: bool = False) -> list[str]:
    if prefix:
        name = _mask_trailing_dash(name)
    if _is_label(name):
        return [] if len(name) <= LABEL_MAX else [max_length_error(LABEL_MAX)]
    errors = [max_length_error(LABEL_MAX)] if size(name) > LABEL_MAX else []
    errors.append("must not contain dots" if _is_subdomain(name) else _LABEL_ERROR)
    return errors


def dns_subdomain(name: str, prefix: bool = False) -> list[str]:
    if prefix:
        name = _mask_trailing_dash(name)
    if _is_subdomain(name):
        return [] if len(name) <= SUBDOMAIN_MAX else [max_length_error(SUBDOMAIN_MAX)]
    errors = [max_length_error(SUBDOMAIN_MAX)] if size(name) > SUBDOMAIN_MAX else []
    errors.append(_SUBDOMAIN_ERROR)
    return errors


def dns_subdomain_with_underscore(name: str) -> list[str]:
    errors = [max_length_error(SUBDOMAIN_MAX)] if size(name) > SUBDOMAIN_MAX else []
    if not _is_subdomain_underscore(name):
        errors.append(_SUBDOMAIN_UNDERSCORE_ERROR)
    return errors


def dns_subdomain_caseless(name: str) -> list[str]:
    errors = [max_bytes_error(SUBDOMAIN_MAX)] if size(name) > SUBDOMAIN_MAX else []
    if not _is_subdomain_caseless(name):
        errors.append(_SUBDOMAIN_CASELESS_ERROR)
    return errors


def dns1035_label(name: str, prefix: bool = False) -> list[str]:
    if prefix:
        name = _mask_trailing_dash(name)
    errors = [max_length_error(LABEL_MAX)] if size(name) > LABEL_MAX else []
    if not _is_dns1035(name):
        errors.append(_DNS1035_ERROR)
    return errors


def wildcard_dns_subdomain(name: str) -> list[str]:
    errors = [max_length_error(SUBDOMAIN_MAX)] if size(name) > SUBDOMAIN_MAX else []
    if not _is_wildcard(name):
        errors.append(_WILDCARD_ERROR)
    return errors


def path_segment_name(name: str, prefix: bool = False) -> list[str]:
    """What every name must be at least, since it stands in a URL."""
    if not prefix and name in (".", ".."):
        return [f"may not be '{name}'"]
    return [f"may not contain '{illegal}'" for illegal in ("/", "%") if illegal in name]


def qualified_name(value: str) -> list[str]:
    """A label or annotation key, a finalizer, a condition type: `name` or `dns.prefix/name`."""
    if len(value) <= LABEL_MAX and _is_label_key(value):
        return []
    prefix, slash, name = value.partition("/")
    if not slash:
        return _key_part(value)
    if "/" in name:
        example = "with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"
        return [f"a valid label key {_LABEL_KEY_ERROR} {example}"]
    errors = []
    if not prefix:
        errors.append("prefix part must be non-empty")
    else:
        if size(prefix) > SUBDOMAIN_MAX:
            errors.append(f"prefix part {max_bytes_error(SUBDOMAIN_MAX)}")
        if not _is_subdomain(prefix):
            errors.append(f"prefix part {_SUBDOMAIN_ERROR}")
    return errors + _key_part(name)


def _key_part(name: str) -> list[str]:
    errors = []
    if not name:
        errors.append("name part must be non-empty")
    elif size(name) > LABEL_MAX:
        errors.append(f"name part {max_bytes_error(LABEL_MAX)}")
    if not _is_label_key(name):
        errors.append(f"name part {_LABEL_KEY_ERROR}")
    return errors


def label_value(value: str) -> list[str]:
    if len(value) <= LABEL_MAX and _is_label_value(value):
        return []
    errors = [max_bytes_error(LABEL_MAX)] if size(value) > LABEL_MAX else []
    if not _is_label_value(value):
        errors.append(_LABEL_VALUE_ERROR)
    return errors


def c_identifier(value: str) -> list[str]:
    return [] if _is_c_identifier(value) else [_C_IDENTIFIER_ERROR]


def percent(value: str) -> list[str]:
    return [] if _is_percent(value) else [_PERCENT_ERROR]


def http_header_name(value: str) -> list[str]:
    return [] if _is_http_header(value) else [_HTTP_HEADER_ERROR]


def http_path(value: str) -> list[str]:
    return [] if _is_http_path(value) else [regex_error("Invalid path", _HTTP_PATH)]


def config_map_key(value: str) -> list[str]:
    """A key of a ConfigMap or Secret: it becomes a file name, so it must not climb directories."""
    errors = [max_length_error(SUBDOMAIN_MAX)] if size(value) > SUBDOMAIN_MAX else []
    if not _is_config_key(value):
        errors.append(_CONFIG_KEY_ERROR)
    return errors + _climbs(value)


def env_var_name(value: str) -> list[str]:
    """An environment variable's name, as accepted since the relaxed rule: printable ASCII without `=`."""
    if not value:
        return ["environment variable name must be non-empty"]
    if value.isascii() and value.isprintable() and "=" not in value:
        return []
    return [_RELAXED_ENV_NAME_ERROR]


def strict_env_var_name(value: str) -> list[str]:
    return ([] if _is_env_name(value) else [_ENV_NAME_ERROR]) + _climbs(value)


def _climbs(value: str) -> list[str]:
    if not value.startswith("."):
        return []
    if value in (".", ".."):
        return [f"must not be '{value}'"]
    return ["must not start with '..'"] if value.startswith("..") else []


def port_number(port: int) -> list[str]:
    return [] if 1 <= port <= 65535 else [range_error(1, 65535)]


def in_range(value: int, low: int, high: int) -> list[str]:
    return [] if low <= value <= high else [range_error(low, high)]


def user_id(value: int) -> list[str]:
    return in_range(value, 0, 2147483647)


group_id = user_id


def port_name(port: str) -> list[str]:
    errors = []
    if size(port) > 15:
        errors.append(max_length_error(15))
    if not _is_port_charset(port):
        errors.append("must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)")
    if not _has_letter(port):
        errors.append("must contain at least one letter (a-z)")
    if "--" in port:
        errors.append("must not contain consecutive hyphens")
    if port and (port[0] == "-" or port[-1] == "-"):
        errors.append("must not begin or end with a hyphen")
    return errors
