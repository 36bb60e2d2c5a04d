"""`/metrics`: what is counted, under the names and labels that people alert on."""

from __future__ import annotations

import re

import pytest

from clusters.emulated.apiserver.metrics.exposition import Exposition
from clusters.emulated.apiserver.metrics.histogram import Histogram
from clusters.emulated.apiserver.request import UserInfo

CONFIG_MAPS = "/api/v1/namespaces/default/configmaps"
LINE = re.compile(r'^[a-z_]+(\{([a-z_]+="([^"\\]|\\.)*",?)*\})? [-+.0-9eInf]+$')


def labels(**values: str) -> str:
    whole = {
        "component": "apiserver", "dry_run": "", "group": "", "resource": "configmaps", "scope": "resource",
        "subresource": "", "version": "v1", **values,
    }  # fmt: skip
    return ",".join(f'{name}="{value}"' for name, value in sorted(whole.items()))


async def shown(asked) -> str:
    response = await asked("GET", "/metrics")
    assert response.status == 200
    return response.body.decode()


def test_requests_are_counted_by_verb_resource_and_code(on_server):
    async def scenario(asked):
        for name in "ab":
            await asked("POST", CONFIG_MAPS, {"metadata": {"name": name}})
        await asked("POST", f"{CONFIG_MAPS}?dryRun=All", {"metadata": {"name": "c"}})
        await asked("GET", f"{CONFIG_MAPS}/nope")
        await asked("GET", CONFIG_MAPS)
        body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "d"}}
        await asked("PATCH", f"{CONFIG_MAPS}/d?fieldManager=m", body, content_type="application/apply-patch+yaml")
        return await shown(asked)

    text = on_server(scenario)
    for count, values in (
        (2, {"code": "201", "verb": "POST"}),
        (1, {"code": "201", "verb": "POST", "dry_run": "All"}),
        (1, {"code": "404", "verb": "GET"}),
        (1, {"code": "200", "verb": "LIST", "scope": "namespace"}),
        (1, {"code": "201", "verb": "APPLY"}),
    ):
        assert f"apiserver_request_total{{{labels(**values)}}} {count}\n" in text
    assert f"apiserver_request_duration_seconds_count{{{labels(verb='POST')}}} 2\n" in text
    assert 'etcd_requests_total{group="",operation="create",resource="configmaps"} 3\n' in text


def test_the_page_is_well_formed_and_each_family_is_named_once(on_server):
    lines = on_server(shown).splitlines()
    assert all(LINE.match(line) for line in lines if not line.startswith("#"))
    types = [line.split()[2] for line in lines if line.startswith("# TYPE")]
    assert len(types) == len(set(types))
    expected = {"apiserver_storage_objects", "apiserver_current_inflight_requests", "process_resident_memory_bytes"}
    assert expected <= set(types)


def test_an_open_watch_is_a_long_running_request_until_it_ends(on_server):
    class Writer:
        buffered_bytes, closed = 0, False

        def write(self, data: bytes) -> None: ...

        write_framed = write

        def on_close(self, callback) -> None: ...

        async def drain(self) -> None: ...

    async def scenario(asked):
        watching = await asked("GET", f"{CONFIG_MAPS}?watch=1&timeoutSeconds=1")
        series = asked.server.metrics.requests.series
        before = [each for each in series.values() if each.labels["verb"] == "WATCH"]
        counts = []

        class Counting(Writer):
            def on_close(self, callback) -> None:
                counts.append(before[0].long_running)

        await watching.stream(Counting())
        return counts, before[0].long_running, before[0].codes

    assert on_server(scenario) == ([1], 0, {200: 1})


def test_rejections_by_flow_control_are_counted(on_server):
    async def scenario(asked):
        path = "/apis/flowcontrol.apiserver.k8s.io/v1/prioritylevelconfigurations/global-default"
        change = {"spec": {"limited": {"limitResponse": {"type": "Reject", "queuing": None}}}}
        await asked("PATCH", path, change, content_type="application/merge-patch+json")
        with asked.server.flow_control.starve("global-default"):
            await asked("GET", CONFIG_MAPS, user=UserInfo("bob", groups=("system:authenticated",)))
        return await shown(asked)

    text = on_server(scenario)
    flow = 'flow_schema="global-default",priority_level="global-default"'
    assert f'apiserver_flowcontrol_rejected_requests_total{{{flow},reason="concurrency-limit"}} 1\n' in text
    assert f'apiserver_flowcontrol_request_wait_duration_seconds_count{{execute="false",{flow}}} 1\n' in text


def test_health_checks_have_a_page_of_their_own(on_server):
    text = on_server(lambda asked: asked("GET", "/metrics/slis")).body.decode()
    assert 'kubernetes_healthcheck{name="etcd",type="readyz"} 1\n' in text
    assert "apiserver_request_total" not in text


@pytest.mark.parametrize(
    ("value", "text"),
    [(0, "0"), (12, "12"), (0.25, "0.25"), (1e6, "1e+06"), (52318208, "5.2318208e+07"), (0.00001, "1e-05")],
)
def test_numbers_are_written_as_go_writes_them(value, text):
    page = Exposition()
    page.gauge("g", "A number.", [({}, value)])
    assert page.text().decode().splitlines()[-1] == f"g {text}"


def test_buckets_add_up_and_labels_are_escaped():
    latency = Histogram((0.1, 1))
    for seconds in (0.05, 0.5, 5):
        latency.observe(seconds)
    page = Exposition()
    page.histogram("h", "Of time.", [({"name": 'a"b\n'}, latency)])
    assert page.text().decode().splitlines()[2:] == [
        'h_bucket{name="a\\"b\\n",le="0.1"} 1',
        'h_bucket{name="a\\"b\\n",le="1"} 2',
        'h_bucket{name="a\\"b\\n",le="+Inf"} 3',
        'h_sum{name="a\\"b\\n"} 5.55',
        'h_count{name="a\\"b\\n"} 3',
    ]
