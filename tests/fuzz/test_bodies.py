"""Bodies that are wrong: each is refused with a Status, or makes exactly the object that the answer shows."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

import orjson
import pytest
import yaml
from budget import FUZZ
from examples import KINDS, NAMESPACE, WIDGETS, collection, example
from hypothesis import given
from hypothesis import strategies as st
from wire import Answer, Server

JSON, YAML, PROTOBUF = "application/json", "application/yaml", "application/vnd.kubernetes.protobuf"
PATCHES = tuple(
    f"application/{kind}"
    for kind in ("json-patch+json", "merge-patch+json", "strategic-merge-patch+json", "apply-patch+yaml")
)
DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"

numbers = st.integers(-(2**70), 2**70) | st.floats(allow_nan=False, allow_infinity=False)
texts = st.text(max_size=20) | st.sampled_from(
    ["", "0", "-1", "1e400", "a/b", "..", "\x00", "é", "🙂", "x" * 300, "$(A)"]
)
scalars = st.none() | st.booleans() | numbers | texts
values = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3), max_leaves=8
)


@pytest.fixture(scope="module", autouse=True)
def _objects(server: Server) -> None:
    assert server.request("POST", "/api/v1/namespaces", {"metadata": {"name": NAMESPACE}}).code == 201
    assert (
        server.request(
            "POST", f"/api/v1/namespaces/{NAMESPACE}/serviceaccounts", {"metadata": {"name": "default"}}
        ).code
        == 201
    )
    assert server.request("POST", DEFINITIONS, WIDGETS).code == 201


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The path to every value inside a value, itself excluded."""
    inside = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, each in inside:
        yield (*path, key)
        yield from places(each, (*path, key))


@st.composite
def spoilt_objects(draw: st.DrawFn) -> tuple[str, dict[str, Any]]:
    """A valid object of some kind in which one to three values were replaced, removed, or given company."""
    kind = draw(st.sampled_from(KINDS))
    obj = copy.deepcopy(example(kind, "spoilt"))
    for _ in range(draw(st.integers(1, 3))):
        found = list(places(obj))
        *way, last = draw(st.sampled_from(found))
        parent: Any = obj
        for key in way:
            parent = parent[key]
        how = draw(st.sampled_from(("replace", "replace", "remove", "add")))
        if how == "replace":
            parent[last] = draw(values)
        elif how == "remove":
            del parent[last]
        elif isinstance(parent, dict):
            parent[draw(texts)] = draw(values)
        else:
            parent.append(draw(values))
        if not obj:
            break
    return kind, obj


def settle(server: Server, kind: str, answer: Answer) -> None:
    """The object exists if and only if it was acknowledged, and as it was; afterwards it is gone."""
    server.check(answer)
    listed = server.request("GET", collection(kind)).body["items"]
    listed = [each for each in listed if each["metadata"]["name"] not in ("default", "kube-root-ca.crt")]
    if answer.code != 201:
        assert not listed, f"refused with {answer}, and yet there is {listed}"
        return
    [stored] = listed
    assert stored["metadata"] == answer.body["metadata"]
    assert {key: stored.get(key) for key in stored} == {key: answer.body.get(key) for key in stored}
    one = f"{collection(kind)}/{stored['metadata']['name']}"
    if stored["metadata"].get("finalizers"):
        cleared = server.request("PATCH", one, {"metadata": {"finalizers": None}}, {"Content-Type": PATCHES[1]})
        server.check(cleared)
    server.check(server.request("DELETE", one, {"gracePeriodSeconds": 0, "propagationPolicy": "Background"}))
    assert server.request("GET", one).code == 404


@FUZZ
@given(spoilt=spoilt_objects(), validation=st.sampled_from(("", "?fieldValidation=Strict", "?fieldValidation=Ignore")))
def test_wrong_values_anywhere(server: Server, spoilt: tuple[str, dict[str, Any]], validation: str) -> None:
    kind, obj = spoilt
    server.request("DELETE", f"{collection(kind)}/spoilt", {"gracePeriodSeconds": 0})  # Of an example that failed.
    # Numbers beyond 64 bits are JSON, though orjson does not write them.
    body = orjson.dumps(obj, default=str) if small(obj) else json_text(obj)
    settle(server, kind, server.request("POST", collection(kind) + validation, body))


def small(value: Any) -> bool:
    if isinstance(value, dict):
        return all(map(small, value.values()))
    if isinstance(value, list):
        return all(map(small, value))
    return not isinstance(value, int) or -(2**63) <= value < 2**63


def json_text(value: Any) -> bytes:
    import json

    return json.dumps(value).encode("utf-8", "surrogatepass")


@FUZZ
@given(
    kind=st.sampled_from(KINDS),
    media_type=st.sampled_from(
        (JSON, YAML, PROTOBUF, "text/plain", "", "application/cbor", "*/*", "application/json; charset=latin-1")
    ),
    written=st.sampled_from((JSON, YAML, PROTOBUF)),
    cut=st.integers(0, 400),
    at=st.integers(0, 400),
    inserted=st.binary(max_size=12),
)
def test_bytes_that_are_not_what_they_claim(
    server: Server, kind: str, media_type: str, written: str, cut: int, at: int, inserted: bytes
) -> None:
    obj = example(kind, "spoilt")
    text = orjson.dumps(obj) if written == JSON else yaml.safe_dump(obj).encode()
    if written == PROTOBUF:
        text = b"k8s\x00" + text
    body = text[: at % len(text)] + inserted + text[(at + cut) % len(text) :]
    settle(server, kind, server.request("POST", collection(kind), body, {"Content-Type": media_type}))


@FUZZ
@given(
    kind=st.sampled_from(("ConfigMap", "Deployment", "Service", "Widget", "Pod", "Lease")),
    media_type=st.sampled_from(PATCHES),
    patch=st.one_of(
        values,
        st.lists(
            st.fixed_dictionaries(
                {},
                optional={
                    "op": st.sampled_from(("add", "remove", "replace", "test", "move", "copy", "x")),
                    "path": st.sampled_from(
                        ("", "/", "/spec", "/metadata/labels/l", "/data/a", "/spec/-", "/spec/9", "/metadata")
                    )
                    | texts,
                    "from": texts,
                    "value": values,
                },
            ),
            max_size=4,
        ),
        spoilt_objects().map(lambda spoilt: spoilt[1]),
    ),
    options=st.sampled_from(("", "?fieldManager=f", "?fieldManager=f&force=true", "?dryRun=All&fieldManager=f")),
)
def test_patches_change_all_or_nothing(server: Server, kind: str, media_type: str, patch: Any, options: str) -> None:
    one = f"{collection(kind)}/patched"
    server.request("DELETE", one, {"gracePeriodSeconds": 0})  # Left behind by an example that failed.
    created = server.request("POST", collection(kind), example(kind, "patched"))
    assert created.code == 201, created
    before = server.request("GET", one).body
    answer = server.request("PATCH", one + options, json_text(patch), {"Content-Type": media_type})
    server.check(answer)
    after = server.request("GET", one).body
    if answer.code == 200 and "dryRun" not in options:
        assert after == answer.body
    else:
        assert after == before
    if after["metadata"].get("finalizers"):
        server.request("PATCH", one, {"metadata": {"finalizers": None}}, {"Content-Type": PATCHES[1]})
    server.check(server.request("DELETE", one, {"gracePeriodSeconds": 0, "propagationPolicy": "Background"}))


@pytest.mark.parametrize("media_type", [JSON, YAML, PROTOBUF, *PATCHES])
@pytest.mark.parametrize(
    "body",
    [
        b'{"a":' * 200_000,
        b"[" * 1_000_000,
        b'{"metadata":{"name":"deep"},"data":' + b'{"a":' * 9_000 + b"1" + b"}" * 9_001,
        b'{"metadata":{"name":"big"},"data":{"a":"' + b"x" * 4_000_000 + b'"}}',
        b'{"metadata":{"name":"big"},"data":{"a":"' + b"x" * 2_000_000 + b'"}}',
        b"- " * 400_000,
        b"&a [*a, *a]",
        b"a: &a [x]\nb: &b [" + b"*a," * 9000 + b"]\n",
        b"k8s\x00" + b"\x0a\xff\xff\xff\xff\x0f" * 10_000,
        b"k8s\x00" + b"\x0b" * 10_000,
        b'{"metadata":{"name":"\xff\xfe"}}',
        b"\xef\xbb\xbf{}",
        b"null",
        b"",
    ],
    ids=[
        "objects",
        "lists",
        "nested",
        "4MB",
        "2MB",
        "yaml-lists",
        "yaml-self",
        "yaml-aliases",
        "lengths",
        "groups",
        "utf8",
        "bom",
        "null",
        "empty",
    ],
)
def test_huge_deep_and_hollow_bodies(server: Server, media_type: str, body: bytes) -> None:
    target = f"/api/v1/namespaces/{NAMESPACE}/configmaps"
    if media_type in PATCHES:
        answer = server.request("PATCH", f"{target}/absent?fieldManager=f", body, {"Content-Type": media_type})
    else:
        answer = server.request("POST", target, body, {"Content-Type": media_type})
    server.check(answer)
    assert 400 <= answer.code < 500, answer
    server.check_healthy()
