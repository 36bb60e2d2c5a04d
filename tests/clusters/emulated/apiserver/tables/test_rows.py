"""Rows of Tables, compared with those a real v1.36 server gave for the same objects."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from clusters.emulated.apiserver.tables.durations import human_duration
from clusters.emulated.apiserver.tables.printers import PRINTERS

RECORDED: dict[str, Any] = json.loads(Path(__file__).with_name("recorded_rows.json").read_bytes())
TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"


def label(row: dict[str, Any]) -> str:
    return f"{row['kind'][1]}-{row['object']['metadata']['name']}"


@pytest.mark.parametrize("row", RECORDED["rows"], ids=label)
def test_cells_are_those_of_the_real_server(row: dict[str, Any]) -> None:
    group, kind = row["kind"]
    printer = PRINTERS.get((group, kind))
    if printer is None:
        pytest.skip(f"{kind} has only the columns of every kind")
    obj = row["object"]
    # The recording took some seconds; ages count whole ones.
    candidates = [printer.cells(obj, RECORDED["now_s"] - earlier_s) for earlier_s in range(5)]
    for position, cell in enumerate(row["cells"]):
        assert cell in [cells[position] for cells in candidates]
    assert len(candidates[0]) == len(row["cells"])
    conditions = printer.conditions(obj) if printer.conditions is not None else None
    assert (conditions or None) == row.get("conditions")


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [
        (-5, "<invalid>"), (-1, "0s"), (0.9, "0s"), (119, "119s"), (120, "2m"), (599, "9m59s"), (600, "10m"),
        (3 * 3600 - 1, "179m"), (3 * 3600, "3h"), (8 * 3600 - 60, "7h59m"), (47 * 3600, "47h"), (48 * 3600, "2d"),
        (8 * 86400 - 3600, "7d23h"), (729 * 86400, "729d"), (730 * 86400, "2y"), (731 * 86400, "2y1d"),
        (9 * 365 * 86400, "9y"),
    ],
)  # fmt: skip
def test_durations_have_two_or_three_figures(seconds: float, shown: str) -> None:
    assert human_duration(seconds) == shown


def test_a_table_of_a_list_has_columns_rows_and_metadata(on_server):
    async def scenario(asked):
        await asked("POST", "/api/v1/namespaces/default/configmaps", {"metadata": {"name": "a"}, "data": {"x": "1"}})
        return await asked.document("/api/v1/namespaces/default/configmaps", accept=TABLE)

    table = on_server(scenario)
    assert [column["name"] for column in table["columnDefinitions"]] == ["Name", "Data", "Age"]
    row = next(each for each in table["rows"] if each["cells"][0] == "a")
    assert row["cells"][:2] == ["a", 1]
    assert row["object"]["kind"] == "PartialObjectMetadata"


def test_flow_schemas_are_listed_in_the_order_in_which_they_are_tried(on_server):
    path = "/apis/flowcontrol.apiserver.k8s.io/v1/flowschemas"
    table = on_server(lambda asked: asked.document(path, accept=TABLE))
    names = [column["name"] for column in table["columnDefinitions"]]
    precedences = [row["cells"][names.index("MatchingPrecedence")] for row in table["rows"]]
    assert precedences == sorted(precedences)
    assert table["rows"][0]["cells"][0] == "exempt"


def test_a_kind_without_columns_of_its_own_has_no_rows_but_null(on_server):
    table = on_server(lambda asked: asked.document("/api/v1/limitranges", accept=TABLE))
    assert table["rows"] is None


def test_both_versions_of_an_autoscaler_have_the_same_row(on_server):
    async def scenario(asked):
        spec = {
            "maxReplicas": 3,
            "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"},
            "targetCPUUtilizationPercentage": 70,
        }
        path = "namespaces/default/horizontalpodautoscalers"
        await asked("POST", f"/apis/autoscaling/v1/{path}", {"metadata": {"name": "web"}, "spec": spec})
        return [await asked.document(f"/apis/autoscaling/{version}/{path}", accept=TABLE) for version in ("v1", "v2")]

    old, new = on_server(scenario)
    assert old["rows"][0]["cells"] == new["rows"][0]["cells"]
    assert old["rows"][0]["cells"][2] == "cpu: <unknown>/70%"
