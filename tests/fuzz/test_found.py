"""What the search has found, and what a real v1.36.4 answers to it."""

from __future__ import annotations

import pytest
from wire import Server

CONFIG_MAPS = "/api/v1/namespaces/default/configmaps"
APPLIED = f"{CONFIG_MAPS}/one?fieldManager=f"
JSON, YAML, APPLY = "application/json", "application/yaml", "application/apply-patch+yaml"
ESCAPE = "found invalid Unicode character escape code"
LABELS = "json: cannot unmarshal array into Go struct field ObjectMeta.metadata.labels of type string"


@pytest.mark.parametrize(
    ("method", "target", "media_type", "body", "code", "message"),
    [
        ("POST", CONFIG_MAPS, JSON, b'{"metadata":{"name":"one","labels":{"":null,"0":[]}}}', 400, LABELS),
        ("POST", CONFIG_MAPS, YAML, b'a: 1\nb: "x\\ud800"\n', 400, f"yaml: line 2: {ESCAPE}"),
        ("POST", CONFIG_MAPS, YAML, b'a: 1\nb: "x\\UFFFFFFFF"\n', 400, f"yaml: line 2: {ESCAPE}"),
        (
            "PATCH",
            APPLIED,
            APPLY,
            b'a: 1\nb: "x\\ud800"\n',
            400,
            f"error converting YAML to JSON: yaml: line 2: {ESCAPE}",
        ),
        ("POST", CONFIG_MAPS, YAML, b"&abc [*abc]", 400, "yaml: anchor 'abc' value contains itself"),
        ("PATCH", APPLIED, APPLY, b"{apiVersion: 3, kind: 4}", 400, "invalid object type: /, Kind="),
        (
            "PATCH",
            APPLIED,
            APPLY,
            b"{apiVersion: v1, kind: ConfigMap, metadata: 3}",
            500,
            ".metadata: expected map, got &{3}",
        ),
        (
            "POST",
            "/api/v1/namespaces/default/services",
            JSON,
            b'{"spec":{"ports":[{"port":80}]}}',
            422,
            "is invalid: spec.parentRef.name: Required value",
        ),
    ],
    ids=[
        "null-beside-list",
        "surrogate",
        "no-character",
        "applied-surrogate",
        "self",
        "apply-kind",
        "apply-metadata",
        "no-name",
    ],
)
def test_is_answered_as_kubernetes_answers_it(
    server: Server, method: str, target: str, media_type: str, body: bytes, code: int, message: str
) -> None:
    answer = server.request(method, target, body, {"Content-Type": media_type})
    server.check(answer)
    assert answer.code == code
    assert message in answer.body["message"]
    assert not server.request("GET", CONFIG_MAPS).body["items"]
