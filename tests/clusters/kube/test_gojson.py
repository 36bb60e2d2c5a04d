"""JSON read as Go reads it."""

from __future__ import annotations

import pytest

from clusters.kube.gojson import JsonError, duplicate_fields, loads


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b"", "unexpected end of JSON input"),
        (b'{"a"', "unexpected end of JSON input"),
        (b"{bad", "invalid character 'b' looking for beginning of object key string"),
        (b'{"a":1} t', "invalid character 't' after top-level value"),
        (b'{"a":tru}', "invalid character '}' in literal true (expecting 'e')"),
        (b'{"a":1,}', "invalid character '}' looking for beginning of object key string"),
        (b'{"a" 1}', "invalid character '1' after object key"),
        (b'{"a":1 "b":2}', "invalid character '\"' after object key:value pair"),
        (b"[1 2]", "invalid character '2' after array element"),
        (b"[1,]", "invalid character ']' looking for beginning of value"),
        (b'{"a":"\x01"}', "invalid character '\\x01' in string literal"),
        (b'{"a":"\\q"}', "invalid character 'q' in string escape code"),
        (b'{"a":"\\u00g0"}', "invalid character 'g' in \\u hexadecimal character escape"),
        (b"-x", "invalid character 'x' in numeric literal"),
        (b"1.x", "invalid character 'x' after decimal point in numeric literal"),
        (b"1e", "unexpected end of JSON input"),
        (b"1ex", "invalid character 'x' in exponent of numeric literal"),
        (b'{"a":01}', "invalid character '1' after object key:value pair"),
        (b"['a']", "invalid character '\\'' looking for beginning of value"),
        (b"[" * 10_001, "exceeded max depth"),
    ],
)
def test_what_is_no_json_is_refused_in_gos_words(text: bytes, message: str) -> None:
    with pytest.raises(JsonError) as refused:
        loads(text)
    assert str(refused.value) == message


def test_lone_surrogates_and_broken_utf8_become_the_replacement_character() -> None:
    assert loads(b'{"a":"\\ud800"}') == {"a": "\ufffd"}
    assert loads(b'{"a":"\xff"}') == {"a": "\ufffd"}


@pytest.mark.parametrize(
    ("text", "paths"),
    [
        (b'{"a":1,"b":{"c":2}}', []),
        (b'{"a":"x\\": y"}', []),  # Looks like a key, is none.
        (b'{"data":{"a":"1","a":"2"}}', ["data.a"]),
        (b'{"a":{"b":1,"b":2},"c":[{"x":1,"x":2}],"a":{}}', ["a.b", "c[0].x", "a"]),
    ],
)
def test_keys_that_stand_twice_are_found_with_their_paths(text: bytes, paths: list[str]) -> None:
    assert duplicate_fields(text, loads(text)) == paths
