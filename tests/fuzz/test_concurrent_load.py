"""Many clients write the same few objects over HTTPS: nothing acknowledged is lost, every key's history has an order
that explains all answers, versions only grow, and a watch sees each write once."""

from __future__ import annotations

import itertools
import random
import threading
import time
from dataclasses import dataclass, field
from typing import Any

import orjson
import pytest
from budget import LONG
from linearizability import Operation, State, check
from wire import Server

NAMES = ("a", "b", "c")
CLIENTS = 6
OPERATIONS = 300 if LONG else 25


@dataclass
class Load:
    """What all clients did. `acknowledged` has the value of each write that succeeded, by its version."""

    server: Server
    collection: str
    recorded: dict[str, list[Operation]] = field(default_factory=lambda: {name: [] for name in NAMES})
    acknowledged: dict[int, bytes] = field(default_factory=dict)
    failures: list[str] = field(default_factory=list)
    numbers: Any = field(default_factory=lambda: itertools.count(1))

    def client(self, seed: int) -> None:
        draw, connection = random.Random(seed), self.server.connect()
        believed = dict.fromkeys(NAMES, 0)
        try:
            for _ in range(OPERATIONS):
                name = draw.choice(NAMES)
                kind = draw.choice(("read", "write", "write", "write", "delete"))
                if kind == "delete" and not believed[name]:
                    kind = "write"
                operation = self._perform(connection, kind, name, believed[name])
                self.recorded[name].append(operation)
                believed[name] = self._belief(operation, believed[name])
        except Exception as error:  # noqa: BLE001 - A thread's failure is the test's.
            self.failures.append(f"client {seed}: {error!r}")
        finally:
            connection.close()

    def _belief(self, operation: Operation, before: int) -> int:
        if operation.kind == "read" or (operation.outcome == "refused" and operation.told):
            return operation.shown[0] if operation.shown else 0
        if operation.outcome == "done":
            return 0 if operation.kind == "delete" else operation.revision
        return before or 1  # There is one of unknown version: its writes are refused until a read shows it.

    def _perform(self, connection: Any, kind: str, name: str, expected: int) -> Operation:
        value = b"%d" % next(self.numbers)
        started = time.monotonic()
        one = f"{self.collection}/{name}"
        body: dict[str, Any] = {"metadata": {"name": name}, "data": {"value": value.decode()}}
        if kind == "read":
            code, answer = send(connection, "GET", one)
            return Operation("read", started, time.monotonic(), shown=None if code == 404 else state(answer))
        if kind == "delete":
            code, answer = send(connection, "DELETE", one, {"preconditions": {"resourceVersion": str(expected)}})
        elif expected:
            body["metadata"]["resourceVersion"] = str(expected)
            code, answer = send(connection, "PUT", one, body)
        else:
            code, answer = send(connection, "POST", self.collection, body)
        ended = time.monotonic()
        what = "delete" if kind == "delete" else "write"
        if code in (404, 409):  # A 404 tells that there is none, a 409 only that it is another one.
            return Operation(what, started, ended, value, expected, "refused", told=code == 404)
        assert code in (200, 201), answer
        if kind == "delete":
            return Operation("delete", started, ended, expected=expected)
        version = int(answer["metadata"]["resourceVersion"])
        self.acknowledged[version] = value
        return Operation("write", started, ended, value, expected, revision=version)


def send(connection: Any, method: str, target: str, body: object = None) -> tuple[int, dict[str, Any]]:
    data = None if body is None else orjson.dumps(body)
    connection.request(method, target, data, {"Content-Type": "application/json"})
    response = connection.getresponse()
    return response.status, orjson.loads(response.read())


def state(obj: dict[str, Any]) -> State:
    return int(obj["metadata"]["resourceVersion"]), obj["data"]["value"].encode()


def watched(server: Server, target: str, until: threading.Event, seen: list[tuple[str, int, bytes]]) -> None:
    """Follows a watch; after `until`, to the object named `end`."""
    connection = server.connect()
    connection.request("GET", target)
    response = connection.getresponse()
    while line := response.readline():
        event = orjson.loads(line)
        if event["object"]["metadata"]["name"] == "end":
            break
        version, value = state(event["object"]) or (0, b"")
        seen.append((event["type"], version, value))
    until.set()
    connection.close()


@pytest.mark.parametrize("seed", range(20 if LONG else 3))
def test_linearizable_durable_and_watched(server: Server, seed: int) -> None:
    namespace = f"load-{seed}"
    created = server.request("POST", "/api/v1/namespaces", {"metadata": {"name": namespace}})
    collection = f"/api/v1/namespaces/{namespace}/configmaps"
    load, seen, ended = Load(server, collection), list[tuple[str, int, bytes]](), threading.Event()
    version = created.body["metadata"]["resourceVersion"]
    watching = threading.Thread(
        target=watched, args=(server, f"{collection}?watch=true&resourceVersion={version}", ended, seen)
    )
    clients = [threading.Thread(target=load.client, args=(seed * CLIENTS + number,)) for number in range(CLIENTS)]
    for thread in (watching, *clients):
        thread.start()
    for thread in clients:
        thread.join(60)
        assert not thread.is_alive()
    assert server.request("POST", collection, {"metadata": {"name": "end"}}).code == 201
    assert ended.wait(20)
    watching.join(20)
    assert not load.failures, load.failures

    assert len(load.acknowledged) > CLIENTS, "the clients did get through"
    for name, operations in load.recorded.items():
        assert check(operations) == "linearizable", f"{name} with seed {seed}"
    versions = [version for _, version, _ in seen]
    assert versions == sorted(set(versions)), "in order, and none twice"
    written = {version: value for kind, version, value in seen if kind != "DELETED"}
    assert written == load.acknowledged, "every acknowledged write once, and nothing else"
    server.check_healthy()


@pytest.mark.parametrize("seed", range(20 if LONG else 3))
def test_generation_grows_only_with_what_is_desired(server: Server, seed: int) -> None:
    draw = random.Random(seed)
    name, labels = f"generation-{seed}", {"app": "x"}
    deployments = "/apis/apps/v1/namespaces/default/deployments"
    template = {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "c", "image": "x:0"}]}}
    spec = {"replicas": 0, "selector": {"matchLabels": labels}, "template": template}
    obj = server.request("POST", deployments, {"metadata": {"name": name}, "spec": spec}).body
    assert obj["metadata"]["generation"] == 1
    for number in range(1, 60 if LONG else 20):
        what, target, patch = draw.choice(
            (
                ("spec", "", {"spec": {"replicas": number}}),
                ("spec", "/scale", {"spec": {"replicas": 1000 + number}}),
                ("metadata", "", {"metadata": {"labels": {"n": str(number)}}}),
                ("status", "/status", {"status": {"observedGeneration": number}, "spec": {"replicas": 99}}),
                ("nothing", "", {}),
            )
        )
        headers = {"Content-Type": "application/merge-patch+json"}
        server.check(server.request("PATCH", f"{deployments}/{name}{target}", patch, headers))
        after = server.request("GET", f"{deployments}/{name}").body
        grown = after["metadata"]["generation"] - obj["metadata"]["generation"]
        assert grown == (1 if what == "spec" else 0), what
        newer = int(after["metadata"]["resourceVersion"]) - int(obj["metadata"]["resourceVersion"])
        assert newer > 0 or (newer == 0 and what == "nothing"), what
        if what == "status":
            assert after["spec"] == obj["spec"], "a status write leaves the spec alone"
        obj = after
