"""Random writes to a few ConfigMaps, beside a model of what must be stored after each."""

from __future__ import annotations

from typing import Any

from budget import FUZZ
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule, run_state_machine_as_test
from wire import Answer, Server

NAMES = st.sampled_from(("a", "b"))
DATA = st.dictionaries(st.sampled_from(("x", "y", "z")), st.sampled_from(("0", "1", "2")), max_size=2)
MERGE, APPLY = "application/merge-patch+json", "application/apply-patch+yaml"


class Model(RuleBasedStateMachine):
    """`objects` is what the server must hold; each rule makes one request and predicts its answer."""

    server: Server
    runs = 0

    def __init__(self) -> None:
        super().__init__()
        self.objects: dict[str, dict[str, Any]] = {}
        self.newest = 0
        self.outdated: dict[str, str] = {}
        self.collection = ""

    @initialize()
    def namespace(self) -> None:
        Model.runs += 1
        name = f"model-{Model.runs}"
        created = self.server.request("POST", "/api/v1/namespaces", {"metadata": {"name": name}})
        assert created.code == 201
        self.newest = int(created.body["metadata"]["resourceVersion"])
        self.collection = f"/api/v1/namespaces/{name}/configmaps"

    def ask(self, method: str, name: str = "", body: Any = None, query: str = "", media_type: str = "") -> Answer:
        headers = {"Content-Type": media_type or "application/json"}
        target = f"{self.collection}/{name}" if name else self.collection
        answer = self.server.request(method, target + query, body, headers)
        self.server.check(answer)
        return answer

    def stored(self, name: str, answer: Answer, data: dict[str, str], *, changed: bool = True) -> None:
        """The write happened: the answer shows it, newer than everything before, unless it changed nothing."""
        metadata = answer.body["metadata"]
        version = int(metadata["resourceVersion"])
        before = self.objects.get(name)
        if before is not None:
            assert metadata["uid"] == before["uid"]
            self.outdated[name] = before["version"]
        if changed:
            assert version > self.newest
            self.newest = version
        else:
            assert before is not None
            assert metadata["resourceVersion"] == before["version"]
        assert answer.body.get("data", {}) == data
        finalizers = metadata.get("finalizers", [])
        self.objects[name] = {
            "uid": metadata["uid"],
            "version": metadata["resourceVersion"],
            "data": data,
            "finalizers": finalizers,
            "deleting": "deletionTimestamp" in metadata,
        }

    @rule(name=NAMES, data=DATA, finalizer=st.booleans(), dry_run=st.booleans())
    def create(self, name: str, data: dict[str, str], finalizer: bool, dry_run: bool) -> None:
        metadata = {"name": name, "finalizers": ["example.com/hold"] if finalizer else []}
        answer = self.ask("POST", body={"metadata": metadata, "data": data}, query="?dryRun=All" if dry_run else "")
        if name in self.objects:
            assert (answer.code, answer.body["reason"]) == (409, "AlreadyExists")
        elif dry_run:
            assert answer.code == 201
            assert "resourceVersion" not in answer.body["metadata"]
        else:
            assert answer.code == 201
            self.stored(name, answer, data)

    @rule(name=NAMES, data=DATA, version=st.sampled_from(("none", "current", "outdated")), dry_run=st.booleans())
    def update(self, name: str, data: dict[str, str], version: str, dry_run: bool) -> None:
        known = self.objects.get(name)
        metadata: dict[str, Any] = {"name": name, "finalizers": known["finalizers"] if known else []}
        if version == "current" and known:
            metadata["resourceVersion"] = known["version"]
        if version == "outdated" and name in self.outdated:
            metadata["resourceVersion"] = self.outdated[name]
        answer = self.ask("PUT", name, {"metadata": metadata, "data": data}, "?dryRun=All" if dry_run else "")
        if known is None:
            assert answer.code == 404
        elif metadata.get("resourceVersion") not in (None, known["version"]):
            assert (answer.code, answer.body["reason"]) == (409, "Conflict")
        else:
            assert answer.code == 200
            if not dry_run:
                self.stored(name, answer, data, changed=data != known["data"])

    @rule(name=NAMES, data=DATA, outdated=st.booleans())
    def merge(self, name: str, data: dict[str, str], outdated: bool) -> None:
        known = self.objects.get(name)
        patch: dict[str, Any] = {"data": data}
        if outdated and name in self.outdated:
            patch["metadata"] = {"resourceVersion": self.outdated[name]}
        answer = self.ask("PATCH", name, patch, media_type=MERGE)
        if known is None:
            assert answer.code == 404
        elif "metadata" in patch and patch["metadata"]["resourceVersion"] != known["version"]:
            assert answer.code == 409
        else:
            assert answer.code == 200
            merged = {**known["data"], **data}
            self.stored(name, answer, merged, changed=merged != known["data"])

    @rule(name=NAMES, value=st.sampled_from(("0", "1", "2")))
    def apply(self, name: str, value: str) -> None:
        body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": {"applied": value}}
        known = self.objects.get(name)
        answer = self.ask("PATCH", name, body, "?fieldManager=model&force=true", APPLY)
        assert answer.code == (201 if known is None else 200)
        data = {**(known["data"] if known else {}), "applied": value}
        unchanged = known is not None and answer.body["metadata"]["resourceVersion"] == known["version"]
        assert not unchanged or (known is not None and data == known["data"])
        self.stored(name, answer, data, changed=not unchanged)

    @rule(name=NAMES, precondition=st.sampled_from(("none", "current", "outdated", "uid")), dry_run=st.booleans())
    def delete(self, name: str, precondition: str, dry_run: bool) -> None:
        known = self.objects.get(name)
        options: dict[str, Any] = {"preconditions": {}}
        if precondition == "uid":
            options["preconditions"]["uid"] = "another"
        elif precondition == "current" and known:
            options["preconditions"]["resourceVersion"] = known["version"]
        elif precondition == "outdated" and name in self.outdated:
            options["preconditions"]["resourceVersion"] = self.outdated[name]
        if dry_run:  # Where there is a body, the options in the query do not count.
            options["dryRun"] = ["All"]
        answer = self.ask("DELETE", name, options)
        if known is None:
            assert answer.code == 404
            return
        demanded = options["preconditions"].get("resourceVersion", known["version"])
        if precondition == "uid" or demanded != known["version"]:
            assert (answer.code, answer.body["reason"]) == (409, "Conflict")
            return
        assert answer.code == 200
        if dry_run:
            return
        if known["finalizers"]:
            held = self.ask("GET", name)
            assert "deletionTimestamp" in held.body["metadata"]
            self.stored(name, held, known["data"], changed=not known["deleting"])
        else:
            self.gone(name)

    @rule(name=NAMES)
    def let_go(self, name: str) -> None:
        """Removes the finalizers: an object that is being deleted is then gone."""
        known = self.objects.get(name)
        answer = self.ask("PATCH", name, {"metadata": {"finalizers": None}}, media_type=MERGE)
        if known is None:
            assert answer.code == 404
        elif known["deleting"]:
            assert answer.code == 200
            self.gone(name)
        else:
            assert answer.code == 200
            self.stored(name, answer, known["data"], changed=bool(known["finalizers"]))

    def gone(self, name: str) -> None:
        self.outdated[name] = self.objects.pop(name)["version"]

    @invariant()
    def the_server_holds_what_the_model_holds(self) -> None:
        if not self.collection:
            return
        listed = self.ask("GET").body
        seen = {
            item["metadata"]["name"]: {
                "uid": item["metadata"]["uid"],
                "version": item["metadata"]["resourceVersion"],
                "data": item.get("data", {}),
                "finalizers": item["metadata"].get("finalizers", []),
                "deleting": "deletionTimestamp" in item["metadata"],
            }
            for item in listed["items"]
        }
        assert seen == self.objects
        version = int(listed["metadata"]["resourceVersion"])
        assert version >= self.newest, "a deletion is a revision as well"
        self.newest = version


def test_the_server_does_what_the_model_does(server: Server) -> None:
    machine = type("Against", (Model,), {"server": server})
    run_state_machine_as_test(machine, settings=FUZZ)  # type: ignore[no-untyped-call]
