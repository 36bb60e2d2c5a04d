from __future__ import annotations

import pytest

from clusters.kube import fieldselectors
from clusters.kube.selectors import SelectorError, from_label_selector, parse


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a=(b", "unable to parse requirement: found '(', expected: identifier"),
        ("a in b", "unable to parse requirement: found 'b' expected: '('"),
        ("a in (b", "unable to parse requirement: found '', expected: ',' or ')'"),
        ("a b", "unable to parse requirement: found 'b', expected: in, notin, =, ==, !=, gt, lt"),
        ("a,,b", "found ',', expected: identifier after ','"),
        ("==", "found '==', expected: !, identifier, or 'end of string'"),
        ("!a=b", "found '=', expected: ',' or 'end of string'"),
        (
            "a>x",
            'unable to parse requirement: values[0]: Invalid value: "x": '
            "for 'Gt', 'Lt' operators, the value must be an integer",
        ),
    ],
)
def test_unreadable_selectors(text: str, message: str) -> None:
    with pytest.raises(SelectorError) as caught:
        parse(text)
    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("text", "labels", "matches"),
    [
        ("", {}, True),
        ("app=web", {"app": "web", "x": "y"}, True),
        ("app=web,tier=db", {"app": "web"}, False),
        ("app!=web", {}, True),
        ("app notin (a,b)", {"app": "b"}, False),
        ("!app", {"app": ""}, False),
        ("app", {"app": ""}, True),
        ("n>5", {"n": "6"}, True),
        ("n<5", {"n": "x"}, False),
        ("app in (a,)", {"app": ""}, True),
    ],
)
def test_matching(text: str, labels: dict[str, str], matches: bool) -> None:
    assert parse(text).matches(labels) is matches


def test_canonical_string() -> None:
    assert str(parse("b in (z, y),!a , c == d")) == "!a,b in (y,z),c==d"


def test_selector_objects() -> None:
    assert not from_label_selector(None).matches({})
    assert from_label_selector({}).matches({})
    selector = from_label_selector(
        {"matchLabels": {"a": "b"}, "matchExpressions": [{"key": "c", "operator": "DoesNotExist"}]}
    )
    assert selector.matches({"a": "b"})
    assert not selector.matches({"a": "b", "c": ""})


def test_field_selectors() -> None:
    selector = fieldselectors.parse(r"status.phase!=Running,metadata.name==a\,b")
    assert selector.matches({"metadata.name": "a,b"})
    assert selector.exact("metadata.name") == "a,b"
    assert str(selector) == r"metadata.name=a\,b,status.phase!=Running"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a", "invalid selector: 'a'; can't understand 'a'"),
        ("a=b=c", "invalid field selector: unescaped character in value: 61"),
        (r"a=\b", r"invalid field selector: invalid escape sequence: \b"),
    ],
)
def test_unreadable_field_selectors(text: str, message: str) -> None:
    with pytest.raises(SelectorError) as caught:
        fieldselectors.parse(text)
    assert str(caught.value) == message
