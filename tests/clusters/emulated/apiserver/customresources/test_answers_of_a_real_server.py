"""Values that a schema takes and refuses. The answers were given by a kube-apiserver v1.36.4.

`answers_v1.36.json` has three schemas and, for each, specs with what became of them: as they were stored, or what was
said about them. The order in which a server tells of several problems is not fixed; they are compared as a set.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.clusters.emulated.apiserver.customresources.conftest import GROUP, Shop, definition, version

Object = dict[str, Any]
RECORDED: dict[str, Object] = json.loads(Path(__file__).with_name("answers_v1.36.json").read_text())
_SCALE = {
    "specReplicasPath": ".spec.size",
    "statusReplicasPath": ".status.replicas",
    "labelSelectorPath": ".status.selector",
}


def _define(shop: Shop, plural: str) -> None:
    subresources: Object = {"status": {}, "scale": _SCALE} if plural == "things" else {"status": {}}
    schema = RECORDED[plural]["schema"]
    shop.define(definition(plural, plural[:-1].capitalize(), version("v1", schema, subresources=subresources)))


def _asked(shop: Shop, plural: str, position: int, answer: Object) -> tuple[Object, Object]:
    """(what is expected, what was said), in the form of the recording."""
    kind = plural[:-1].capitalize()
    obj = {"apiVersion": f"{GROUP}/v1", "kind": kind, "metadata": {"name": f"n{position}"}, "spec": answer["spec"]}
    strict = "&fieldValidation=Strict" if answer.get("strict") else ""
    code, said = shop("POST", f"{shop.path(plural)}?dryRun=All{strict}", obj)
    expected = {key: value for key, value in answer.items() if key not in ("spec", "strict")}
    found: Object = {}
    if code == 201:
        found["stored"] = said["spec"]
    else:
        found["code"] = code
        causes = said.get("details", {}).get("causes")
        if causes is None:
            found["message"] = said["message"]
        else:
            found["causes"] = sorted([each["field"], each["reason"], each["message"]] for each in causes)
    warnings = [each.removeprefix('299 - "')[:-1].replace('\\"', '"') for each in shop.warnings]
    if warnings:
        found["warnings"] = warnings
    return expected, found


@pytest.mark.parametrize("plural", ["things", "cels", "gizmos"])
def test_every_spec_gets_the_answer_of_the_real_server(shop: Shop, plural: str) -> None:
    _define(shop, plural)
    different = []
    for position, answer in enumerate(RECORDED[plural]["answers"]):
        expected, found = _asked(shop, plural, position, answer)
        if expected != found:
            different.append((answer["spec"], expected, found))
    assert different == []
    assert len(RECORDED[plural]["answers"]) > 20
