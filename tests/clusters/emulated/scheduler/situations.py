"""Situations that a scheduler meets. What becomes of them on a real cluster is in situations.json."""

from __future__ import annotations

from typing import Any

from tests.clusters.emulated.scheduler.builders import (
    claim,
    near,
    node,
    pod,
    port,
    preferred_nodes,
    priority_class,
    required_nodes,
    spread,
    storage_class,
    volume,
)
from tests.clusters.emulated.scheduler.play import Situation

Object = dict[str, Any]
HIGH = priority_class("high", 1000)
MIDDLE = priority_class("middle", 100)
LOW = priority_class("low", -10)
NEVER = priority_class("patient", 1000, preemptionPolicy="Never")
ZONE = "topology.kubernetes.io/zone"
_DEFAULT_TOLERATIONS = [
    {"key": f"node.kubernetes.io/{key}", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300}
    for key in ("not-ready", "unreachable")
]


def _situation(name: str, given: list[Object], *steps: Any) -> Situation:
    wanted = tuple(("create", step) if isinstance(step, dict) else step for step in steps)
    return Situation(name, tuple(given), wanted)


def _zone(name: str, zone: str, **more: Any) -> Object:
    return node(name, labels={ZONE: zone}, **more)


def _in(key: str, *values: str) -> Object:
    return {"key": key, "operator": "In", "values": list(values)}


def _budget(name: str, app: str, allowed: int) -> Object:
    return {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"minAvailable": 1, "selector": {"matchLabels": {"app": app}}},
        "status": {
            "disruptionsAllowed": allowed,
            "currentHealthy": 1,
            "desiredHealthy": 1,
            "expectedPods": 1,
            "observedGeneration": 1,
        },
    }


_BOUND = {"metadata": {"annotations": {"pv.kubernetes.io/bind-completed": "yes"}}, "spec": {"volumeName": "v"}}


def _csi_node(name: str, driver: str, count: int) -> Object:
    spec = {"drivers": [{"name": driver, "nodeID": name, "allocatable": {"count": count}}]}
    return {"apiVersion": "storage.k8s.io/v1", "kind": "CSINode", "metadata": {"name": name}, "spec": spec}


def _replica_set(name: str, app: str) -> Object:
    template = {
        "metadata": {"labels": {"app": app}},
        "spec": {"containers": [{"name": "c", "image": "registry.test/web:1"}]},
    }
    return {
        "apiVersion": "apps/v1",
        "kind": "ReplicaSet",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"replicas": 0, "selector": {"matchLabels": {"app": app}}, "template": template},
    }


def _service(name: str, app: str) -> Object:
    spec = {"selector": {"app": app}, "ports": [{"port": 80}]}
    return {"apiVersion": "v1", "kind": "Service", "metadata": {"name": name, "namespace": "default"}, "spec": spec}


RESOURCES = [
    _situation("no nodes at all", [], pod("p")),
    _situation("a node appears", [], pod("p", cpu="1"), node("a")),
    _situation("one node, room enough", [node("a")], pod("p", cpu="1")),
    _situation("too much cpu for any node", [node("a"), node("b")], pod("p", cpu="5")),
    _situation("too much memory", [node("a")], pod("p", memory="9Gi")),
    _situation("cpu and memory", [node("a")], pod("p", cpu="5", memory="9Gi")),
    _situation("cpu taken by another", [node("a")], pod("first", cpu="3"), pod("second", cpu="2")),
    _situation(
        "cpu on one, memory on the other",
        [node("a", cpu="1"), node("b", memory="1Gi")],
        pod("p", cpu="2", memory="2Gi"),
    ),
    _situation("too many pods", [node("a", pods="1")], pod("first"), pod("second")),
    _situation(
        "cpu here, pods there",
        [node("a", cpu="1"), node("b", pods="1"), pod("full", on="b")],
        pod("p", cpu="2"),
    ),
    _situation("extended resource missing", [node("a")], pod("p", requests={"example.com/gpu": "1"})),
    _situation(
        "extended resource used up",
        [node("a", gpu="2")],
        pod("first", requests={"example.com/gpu": "2"}),
        pod("second", requests={"example.com/gpu": "1"}),
    ),
    _situation("ephemeral storage", [node("a", storage="1Gi")], pod("p", requests={"ephemeral-storage": "2Gi"})),
    _situation("huge pages", [node("a", hugepages="4Mi")], pod("p", cpu="1", requests={"hugepages-2Mi": "8Mi"})),
    _situation("init containers count", [node("a")], pod("p", cpu="1", init={"cpu": "6"})),
    _situation("a milli too much", [node("a", cpu="1")], pod("p", requests={"cpu": "1001m"})),
    _situation(
        "room is freed", [node("a"), pod("old", cpu="3", on="a")], pod("p", cpu="2"), ("delete", ("Pod", "old"))
    ),
    _situation(
        "the node grows",
        [node("a")],
        pod("p", cpu="6"),
        ("patch", ("Node", "a", {"status": {"allocatable": {"cpu": "8"}}})),
    ),
    _situation(
        "least allocated wins", [node("a"), node("b", cpu="16", memory="32Gi")], pod("p", cpu="1", memory="1Gi")
    ),
    _situation(
        "balance matters",
        [node("a"), node("b"), pod("x", cpu="2", memory="1Gi", on="a"), pod("y", cpu="1", memory="3Gi", on="b")],
        pod("p", cpu="1", memory="500Mi"),
    ),
    _situation(
        "the busy node is left alone",
        [node("a"), node("b"), pod("x", cpu="3", memory="6Gi", on="a")],
        pod("p"),
    ),
]

NODES = [
    _situation("cordoned", [node("a", unschedulable=True)], pod("p")),
    _situation(
        "uncordoned",
        [node("a", unschedulable=True)],
        pod("p"),
        ("patch", ("Node", "a", {"spec": {"unschedulable": None}})),
    ),
    _situation(
        "a cordon tolerated",
        [node("a", unschedulable=True)],
        pod("p", tolerations=[{"key": "node.kubernetes.io/unschedulable", "operator": "Exists"}]),
    ),
    _situation("tainted", [node("a", taints=["team=x:NoSchedule"])], pod("p")),
    _situation("tainted NoExecute", [node("a", taints=["team=x:NoExecute"])], pod("p")),
    _situation(
        "taint tolerated by value",
        [node("a", taints=["team=x:NoSchedule"]), node("b", taints=["team=y:NoSchedule"])],
        pod("p", tolerations=[{"key": "team", "value": "y"}]),
    ),
    _situation(
        "everything tolerated",
        [node("a", taints=["team=x:NoExecute"])],
        pod("p", tolerations=[{"operator": "Exists"}]),
    ),
    _situation(
        "wrong effect tolerated",
        [node("a", taints=["team=x:NoSchedule"])],
        pod("p", tolerations=[{"key": "team", "operator": "Exists", "effect": "NoExecute"}]),
    ),
    _situation(
        "taint removed",
        [node("a", taints=["team=x:NoSchedule"])],
        pod("p"),
        ("patch", ("Node", "a", {"spec": {"taints": None}})),
    ),
    _situation("soft taint avoided", [node("a", taints=["team=x:PreferNoSchedule"]), node("b")], pod("p")),
    _situation("selector mismatch", [node("a"), node("b")], pod("p", nodeSelector={"disk": "ssd"})),
    _situation(
        "selector match", [node("a"), node("b", labels={"disk": "ssd"})], pod("p", nodeSelector={"disk": "ssd"})
    ),
    _situation(
        "label added later",
        [node("a")],
        pod("p", nodeSelector={"disk": "ssd"}),
        ("patch", ("Node", "a", {"metadata": {"labels": {"disk": "ssd"}}})),
    ),
    _situation("affinity mismatch", [node("a")], pod("p", affinity=required_nodes(_in("zone", "z1")))),
    _situation(
        "affinity by number",
        [node("a", labels={"gen": "3"}), node("b", labels={"gen": "5"})],
        pod("p", affinity=required_nodes({"key": "gen", "operator": "Gt", "values": ["4"]})),
    ),
    _situation(
        "affinity to a node by name",
        [node("a"), node("b"), node("c")],
        pod("p", affinity=required_nodes(fields=[_in("metadata.name", "b")])),
    ),
    _situation(
        "affinity to a full node by name",
        [node("a"), node("b", cpu="1"), node("c")],
        pod("p", cpu="2", affinity=required_nodes(fields=[_in("metadata.name", "b")])),
    ),
    _situation(
        "affinity to a node that is not there",
        [node("a"), node("b")],
        pod("p", affinity=required_nodes(fields=[_in("metadata.name", "zzz")])),
    ),
    _situation(
        "affinity to two names at once",
        [node("a"), node("b")],
        pod("p", affinity=required_nodes(fields=[_in("metadata.name", "a"), _in("metadata.name", "b")])),
    ),
    _situation(
        "preferred affinity",
        [node("a"), node("b", labels={"disk": "ssd"})],
        pod("p", affinity=preferred_nodes(50, "disk", "ssd")),
    ),
    _situation(
        "mixed reasons",
        [
            node("a", unschedulable=True),
            node("b", taints=["team=x:NoSchedule"]),
            node("c", cpu="1"),
            node("d", labels={"disk": "hdd"}),
            node("e", cpu="1"),
        ],
        pod("p", cpu="2", nodeSelector={"kubernetes.io/hostname": "c"}),
        pod("q", cpu="8"),
    ),
    _situation(
        "cordoned and tainted is one reason", [node("a", unschedulable=True, taints=["t=x:NoSchedule"])], pod("p")
    ),
    _situation("many nodes", [node(f"n{i:02}", cpu="1" if i < 11 else "2") for i in range(13)], pod("p", cpu="3")),
    _situation(
        "an image is there", [node("a"), node("b", images={"registry.test/web:1": 900 * 1024 * 1024})], pod("p")
    ),
    _situation("the node goes", [node("a"), node("b", cpu="1")], ("delete", ("Node", "a")), pod("p", cpu="2")),
]

PORTS_AND_GATES = [
    _situation("host port taken", [node("a"), pod("x", on="a", ports=[port(80)])], pod("p", ports=[port(80)])),
    _situation(
        "host port of another protocol",
        [node("a"), pod("x", on="a", ports=[port(80)])],
        pod("p", ports=[port(80, "UDP")]),
    ),
    _situation(
        "host port of another address",
        [node("a"), pod("x", on="a", ports=[port(80, ip="127.0.0.1")])],
        pod("p", ports=[port(80, ip="127.0.0.2")]),
        pod("q", ports=[port(80)]),
    ),
    _situation(
        "host port freed",
        [node("a"), pod("x", on="a", ports=[port(80)])],
        pod("p", ports=[port(80)]),
        ("delete", ("Pod", "x")),
    ),
    _situation("gated", [node("a")], pod("p", schedulingGates=[{"name": "example.com/wait"}])),
    _situation(
        "gates removed",
        [node("a")],
        pod("p", schedulingGates=[{"name": "example.com/wait"}]),
        ("patch", ("Pod", "p", {"spec": {"schedulingGates": None}})),
    ),
    _situation("another scheduler", [node("a")], pod("p", schedulerName="nobody")),
]

AFFINITY = [
    _situation("near nobody", [node("a")], pod("p", affinity=near("db"))),
    _situation(
        "near somebody",
        [node("a"), node("b"), pod("db", labels={"app": "db"}, on="b")],
        pod("p", affinity=near("db")),
    ),
    _situation("near its own kind", [node("a")], pod("p", labels={"app": "p"}, affinity=near("p"))),
    _situation(
        "near somebody who comes",
        [node("a")],
        pod("p", affinity=near("db")),
        pod("db", labels={"app": "db"}),
    ),
    _situation("near in a zone that nodes lack", [node("a")], pod("p", labels={"app": "p"}, affinity=near("p", ZONE))),
    _situation(
        "away from somebody",
        [node("a"), pod("db", labels={"app": "db"}, on="a")],
        pod("p", affinity=near("db", anti=True)),
    ),
    _situation(
        "one per node",
        [node("a"), node("b", taints=["t=x:PreferNoSchedule"])],
        pod("p0", labels={"app": "p"}, affinity=near("p", anti=True)),
        pod("p1", labels={"app": "p"}, affinity=near("p", anti=True)),
        pod("p2", labels={"app": "p"}, affinity=near("p", anti=True)),
        ("delete", ("Pod", "p0")),
    ),
    _situation(
        "unwanted by who is there",
        [node("a"), pod("shy", on="a", affinity=near("loud", anti=True))],
        pod("p", labels={"app": "loud"}),
    ),
    _situation(
        "preferred near",
        [node("a"), node("b"), pod("db", labels={"app": "db"}, on="b")],
        pod("p", affinity=near("db", weight=100)),
    ),
    _situation(
        "preferred away",
        [node("a"), node("b"), pod("db", labels={"app": "db"}, on="b")],
        pod("p", affinity=near("db", weight=100, anti=True)),
    ),
    _situation(
        "near, in other namespaces",
        [node("a"), pod("db", labels={"app": "db"}, on="a")],
        pod("p", affinity=near("db", namespaces=["kube-system"])),
        pod("q", affinity=near("db", namespaceSelector={})),
    ),
]

SPREAD = [
    _situation(
        "spread over nodes",
        [node("a"), node("b"), pod("x", labels={"app": "p"}, on="a")],
        pod("p", labels={"app": "p"}, topologySpreadConstraints=spread("p")),
    ),
    _situation(
        "skew with a node that is full",
        [node("a"), node("b", cpu="1"), pod("x", labels={"app": "p"}, on="a")],
        pod("p", cpu="2", labels={"app": "p"}, topologySpreadConstraints=spread("p")),
    ),
    _situation(
        "spread without the label",
        [node("a")],
        pod("p", labels={"app": "p"}, topologySpreadConstraints=spread("p", ZONE)),
    ),
    _situation(
        "spread over zones",
        [_zone("a", "z1"), _zone("b", "z1"), _zone("c", "z2"), pod("x", labels={"app": "p"}, on="a")],
        pod("p", labels={"app": "p"}, topologySpreadConstraints=spread("p", ZONE)),
    ),
    _situation(
        "too few domains",
        [_zone("a", "z1"), pod("x", labels={"app": "p"}, on="a")],
        pod("p", labels={"app": "p"}, topologySpreadConstraints=spread("p", ZONE, minDomains=2)),
    ),
    _situation(
        "taints honoured by spread",
        [node("a"), node("b", taints=["t=x:NoSchedule"]), pod("x", labels={"app": "p"}, on="a")],
        pod("p", labels={"app": "p"}, topologySpreadConstraints=spread("p")),
        pod("q", labels={"app": "p"}, topologySpreadConstraints=spread("p", nodeTaintsPolicy="Honor")),
    ),
    _situation(
        "softly spread",
        [node("a"), node("b"), pod("x", labels={"app": "p"}, on="a"), pod("y", on="b")],
        pod("p", labels={"app": "p"}, topologySpreadConstraints=spread("p", soft=True)),
    ),
    _situation(
        "a service spreads by itself",
        [node("a"), node("b"), _service("web", "p"), pod("x", labels={"app": "p"}, on="a"), pod("y", on="b")],
        pod("p", labels={"app": "p"}),
    ),
]

VOLUMES = [
    _situation("claim missing", [node("a")], pod("p", claims=["missing"])),
    _situation(
        "claim created later",
        [node("a"), volume("v")],
        pod("p", claims=["late"]),
        claim("late", volume="v", bound=True),
    ),
    _situation("claim unbound, no class", [node("a"), claim("c")], pod("p", claims=["c"])),
    _situation("claim of a missing class", [node("a"), claim("c", storage="none")], pod("p", claims=["c"])),
    _situation("claim bound", [node("a"), volume("v"), claim("c", volume="v", bound=True)], pod("p", claims=["c"])),
    _situation(
        "claim bound elsewhere",
        [node("a"), volume("v", nodes=["b"]), claim("c", volume="v", bound=True)],
        pod("p", claims=["c"]),
    ),
    _situation(
        "claim bound to the node of its volume",
        [node("a"), node("b"), volume("v", nodes=["b"]), claim("c", volume="v", bound=True)],
        pod("p", claims=["c"]),
    ),
    _situation("volume gone", [node("a"), claim("c", volume="gone", bound=True)], pod("p", claims=["c"])),
    _situation(
        "waits for a consumer, no volume",
        [node("a"), storage_class("local", wait=True), claim("c", storage="local")],
        pod("p", claims=["c"]),
    ),
    _situation(
        "waits for a consumer, volume too small",
        [
            node("a"),
            storage_class("local", wait=True),
            volume("v", size="1Gi", storage="local"),
            claim("c", storage="local", size="2Gi"),
        ],
        pod("p", claims=["c"]),
    ),
    _situation(
        "waits for a consumer, volume on another node",
        [
            node("a"),
            node("b", cpu="1"),
            storage_class("local", wait=True),
            volume("v", storage="local", nodes=["b"]),
            claim("c", storage="local"),
        ],
        pod("p", cpu="2", claims=["c"]),
    ),
    _situation(
        "waits for a consumer, volume found",
        [
            node("a"),
            node("b"),
            storage_class("local", wait=True),
            volume("v", storage="local", nodes=["b"]),
            claim("c", storage="local"),
        ],
        pod("p", claims=["c"]),
        ("patch", ("PersistentVolumeClaim", "c", _BOUND)),
    ),
    _situation(
        "waits for a consumer, volume to be made",
        [node("a"), storage_class("dynamic", wait=True, provisioner="csi.test"), claim("c", storage="dynamic")],
        pod("p", claims=["c"]),
        volume("v", storage="dynamic"),
        ("patch", ("PersistentVolumeClaim", "c", _BOUND)),
    ),
    _situation(
        "two claims, one volume",
        [
            node("a"),
            storage_class("local", wait=True),
            volume("v", storage="local"),
            claim("c1", storage="local"),
            claim("c2", storage="local"),
        ],
        pod("p", claims=["c1", "c2"]),
    ),
    _situation(
        "claim being made for an ephemeral volume",
        [node("a")],
        pod(
            "p",
            volumes=[
                {
                    "name": "e",
                    "ephemeral": {
                        "volumeClaimTemplate": {
                            "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
                        }
                    },
                }
            ],
        ),
    ),
    _situation(
        "bound elsewhere and nothing to bind",
        [
            node("a"),
            storage_class("local", wait=True),
            volume("v", nodes=["b"]),
            claim("c1", volume="v", bound=True),
            claim("c2", storage="local"),
        ],
        pod("p", claims=["c1", "c2"]),
    ),
    _situation(
        "immediate class, unbound",
        [node("a"), storage_class("now", provisioner="csi.test"), claim("c", storage="now")],
        pod("p", claims=["c"]),
    ),
    _situation(
        "zone of the volume",
        [_zone("a", "z1"), volume("v", labels={ZONE: "z2"}), claim("c", volume="v", bound=True)],
        pod("p", claims=["c"]),
    ),
    _situation(
        "one pod only",
        [
            node("a"),
            volume("v", mode="ReadWriteOncePod"),
            claim("c", volume="v", bound=True, mode="ReadWriteOncePod"),
            pod("x", claims=["c"], on="a"),
        ],
        pod("p", claims=["c"]),
    ),
    _situation(
        "attach limit",
        [
            node("a"),
            _csi_node("a", "csi.test", 1),
            volume("v1", csi="csi.test"),
            volume("v2", csi="csi.test"),
            claim("c1", volume="v1", bound=True),
            claim("c2", volume="v2", bound=True),
        ],
        pod("first", claims=["c1"]),
        pod("second", claims=["c2"]),
    ),
    _situation(
        "the same disk twice",
        [
            node("a"),
            pod(
                "x",
                on="a",
                volumes=[{"name": "d", "iscsi": {"targetPortal": "127.0.0.1", "iqn": "iqn.2024-01.test:1", "lun": 0}}],
            ),
        ],
        pod(
            "p",
            volumes=[{"name": "d", "iscsi": {"targetPortal": "127.0.0.1", "iqn": "iqn.2024-01.test:1", "lun": 0}}],
        ),
    ),
]

PREEMPTION = [
    _situation(
        "the important one pushes",
        [HIGH, LOW, node("a"), pod("x", cpu="3", on="a", priorityClassName="low")],
        pod("p", cpu="3", priorityClassName="high"),
        ("leave", None),
    ),
    _situation(
        "never pushes",
        [NEVER, LOW, node("a"), pod("x", cpu="3", on="a", priorityClassName="low")],
        pod("p", cpu="3", priorityClassName="patient"),
    ),
    _situation(
        "equal importance",
        [HIGH, node("a"), pod("x", cpu="3", on="a", priorityClassName="high")],
        pod("p", cpu="3", priorityClassName="high"),
    ),
    _situation(
        "only as many as needed",
        [
            HIGH,
            MIDDLE,
            LOW,
            node("a"),
            pod("x", cpu="2", on="a", priorityClassName="middle"),
            pod("y", cpu="2", on="a", priorityClassName="low"),
        ],
        pod("p", cpu="2", priorityClassName="high"),
        ("leave", None),
    ),
    _situation(
        "the least important victims",
        [
            HIGH,
            MIDDLE,
            LOW,
            node("a"),
            node("b"),
            pod("x", cpu="3", on="a", priorityClassName="middle"),
            pod("y", cpu="3", on="b", priorityClassName="low"),
        ],
        pod("p", cpu="3", priorityClassName="high"),
    ),
    _situation(
        "not enough even so",
        [HIGH, node("a"), pod("x", cpu="1", on="a"), pod("rock", cpu="2", on="a", priorityClassName="high")],
        pod("p", cpu="3", priorityClassName="high"),
    ),
    _situation(
        "a budget counts",
        [
            HIGH,
            node("a"),
            node("b"),
            _budget("b1", "x", 0),
            pod("x", cpu="3", on="a", labels={"app": "x"}),
            pod("y1", cpu="1", on="b"),
            pod("y2", cpu="2", on="b"),
        ],
        pod("p", cpu="4", priorityClassName="high"),
    ),
    _situation(
        "pushed out of a port",
        [HIGH, node("a"), pod("x", on="a", ports=[port(80)])],
        pod("p", ports=[port(80)], priorityClassName="high"),
        ("leave", None),
    ),
    _situation(
        "pushing does not help everywhere",
        [
            HIGH,
            node("a", cpu="1"),
            node("b", taints=["t=x:NoSchedule"]),
            node("c"),
            pod("x", cpu="3", on="c", priorityClassName="high"),
        ],
        pod("p", cpu="2", priorityClassName="high"),
    ),
    _situation(
        "the promised room is kept",
        [HIGH, node("a"), pod("x", cpu="3", on="a")],
        pod("p", cpu="3", priorityClassName="high"),
        pod("q", cpu="2"),
        ("leave", None),
    ),
    _situation(
        "a lesser promise is taken back",
        [HIGH, MIDDLE, node("a"), pod("x", cpu="3", on="a")],
        pod("m", cpu="3", priorityClassName="middle"),
        pod("h", cpu="3", priorityClassName="high"),
        ("leave", None),
    ),
    _situation(
        "the promised node is cordoned",
        [HIGH, node("a"), pod("x", cpu="3", on="a")],
        pod("p", cpu="3", priorityClassName="high"),
        ("patch", ("Node", "a", {"spec": {"unschedulable": True}})),
        ("leave", None),
    ),
    _situation(
        "the important one goes before its victims",
        [HIGH, node("a"), pod("x", cpu="3", on="a")],
        pod("p", cpu="3", priorityClassName="high"),
        ("delete", ("Pod", "p")),
        pod("q", cpu="1"),
    ),
    _situation(
        "three small ones or one large",
        [
            HIGH,
            node("a"),
            node("b"),
            *(pod(f"s{i}", cpu="1", on="a") for i in range(4)),
            pod("large", cpu="4", on="b"),
        ],
        pod("p", cpu="3", priorityClassName="high"),
    ),
    _situation(
        "anti-affinity gives way",
        [HIGH, node("a"), pod("x", labels={"app": "x"}, on="a")],
        pod("p", affinity=near("x", anti=True), priorityClassName="high"),
    ),
    _situation(
        "spread gives way",
        [HIGH, node("a"), node("b", cpu="1"), pod("x", labels={"app": "p"}, on="a")],
        pod("p", cpu="2", labels={"app": "p"}, topologySpreadConstraints=spread("p"), priorityClassName="high"),
    ),
]

MIXED = [
    _situation(
        "one cordoned, one tainted", [node("a", unschedulable=True), node("b", taints=["t=x:NoSchedule"])], pod("p")
    ),
    _situation(
        "a toleration is added",
        [node("a", taints=["team=x:NoSchedule"])],
        pod("p"),
        (
            "patch",
            ("Pod", "p", {"spec": {"tolerations": [*_DEFAULT_TOLERATIONS, {"key": "team", "operator": "Exists"}]}}),
        ),
    ),
    _situation(
        "claim missing, then unbound",
        [node("a"), storage_class("now", provisioner="csi.test")],
        pod("p", claims=["c"]),
        claim("c", storage="now"),
    ),
    _situation(
        "a resource claim is missing",
        [node("a")],
        pod("p", resourceClaims=[{"name": "gpu", "resourceClaimName": "nowhere"}]),
    ),
    _situation(
        "resources of the whole pod",
        [node("a", cpu="2")],
        pod("p", resources={"requests": {"cpu": "3", "memory": "1Gi"}}),
    ),
    _situation(
        "a service over two zones",
        [
            _zone("a", "z1"),
            _zone("b", "z1"),
            _zone("c", "z2"),
            _service("web", "p"),
            *(pod(f"x{i}", labels={"app": "p"}, on="a") for i in range(6)),
            *(pod(f"y{i}", on=name) for i, name in enumerate("bbbbbbcccccc")),
        ],
        pod("p", labels={"app": "p"}),
    ),
    _situation(
        "pushed out of an extended resource",
        [HIGH, node("a", gpu="1"), pod("x", requests={"example.com/gpu": "1"}, on="a")],
        pod("p", requests={"example.com/gpu": "1"}, priorityClassName="high"),
        ("leave", None),
    ),
    _situation(
        "pushed out of a claim",
        [
            HIGH,
            node("a"),
            volume("v", mode="ReadWriteOncePod"),
            claim("c", volume="v", bound=True, mode="ReadWriteOncePod"),
            pod("x", claims=["c"], on="a"),
        ],
        pod("p", claims=["c"], priorityClassName="high"),
    ),
    _situation(
        "five reasons for the important one",
        [
            HIGH,
            node("a", cpu="1"),
            node("b", unschedulable=True),
            node("c", pods="1"),
            node("d", taints=["t=x:NoExecute"]),
            node("e"),
            pod("full", on="c", priorityClassName="high"),
            pod("wide", cpu="3", on="e", priorityClassName="high"),
        ],
        pod("p", cpu="2", priorityClassName="high"),
    ),
    _situation(
        "away from the important one",
        [HIGH, MIDDLE, node("a"), pod("x", labels={"app": "x"}, on="a", priorityClassName="high")],
        pod("p", affinity=near("x", anti=True), priorityClassName="middle"),
    ),
    _situation(
        "near and away at once",
        [
            _zone("a", "z1"),
            _zone("b", "z1"),
            _zone("c", "z2"),
            pod("db", labels={"app": "db"}, on="a"),
            pod("x", labels={"app": "p"}, on="b"),
        ],
        pod("p", labels={"app": "p"}, affinity={**near("db", ZONE), **near("p", anti=True)}),
        pod("q", labels={"app": "p"}, affinity={**near("db"), **near("p", anti=True)}),
    ),
    _situation(
        "weights of preferred nodes",
        [node("a", labels={"disk": "ssd"}), node("b", labels={"gen": "new"}), node("c")],
        pod(
            "p",
            affinity={
                "nodeAffinity": {
                    "preferredDuringSchedulingIgnoredDuringExecution": [
                        {"weight": 10, "preference": {"matchExpressions": [_in("disk", "ssd")]}},
                        {"weight": 60, "preference": {"matchExpressions": [_in("gen", "new")]}},
                    ]
                }
            },
        ),
    ),
    _situation(
        "spread by version",
        [node("a"), node("b", cpu="1"), pod("x", labels={"app": "p", "v": "1"}, on="a")],
        pod("p", cpu="2", labels={"app": "p", "v": "2"}, topologySpreadConstraints=spread("p", matchLabelKeys=["v"])),
        pod(
            "q",
            cpu="1100m",
            labels={"app": "p", "v": "2"},
            topologySpreadConstraints=spread("p", matchLabelKeys=["v"]),
        ),
    ),
    _situation(
        "two constraints",
        [
            _zone("a", "z1"),
            _zone("b", "z2"),
            node("c"),
            pod("x", labels={"app": "p"}, on="a"),
            pod("y", labels={"app": "p"}, on="b"),
        ],
        pod("p", labels={"app": "p"}, topologySpreadConstraints=[*spread("p", ZONE), *spread("p")]),
        pod("q", labels={"app": "p"}, topologySpreadConstraints=[*spread("p", ZONE, skew=2), *spread("p")]),
    ),
    _situation(
        "a node with a promise goes",
        [HIGH, node("a"), pod("x", cpu="3", on="a")],
        pod("p", cpu="3", priorityClassName="high"),
        ("delete", ("Node", "a")),
        node("b"),
    ),
    _situation(
        "a lost claim",
        [node("a"), volume("v"), claim("c", volume="v", bound=True)],
        ("patch", ("PersistentVolumeClaim", "c", {"status": {"phase": "Lost"}})),
        pod("p", claims=["c"]),
    ),
    _situation(
        "a claim with a volume but not bound",
        [node("a"), volume("v"), claim("c", volume="v")],
        pod("p", claims=["c"]),
    ),
    _situation(
        "a volume reserved by hand",
        [
            node("a"),
            storage_class("local", wait=True),
            volume("v", storage="local", reserved_for="other"),
            claim("c", storage="local"),
        ],
        pod("p", claims=["c"]),
    ),
    _situation(
        "unreachable node",
        [node("a", taints=["node.kubernetes.io/unreachable:NoSchedule", "node.kubernetes.io/unreachable:NoExecute"])],
        pod("p"),
    ),
    _situation(
        "disk pressure and a full node",
        [node("a", taints=["node.kubernetes.io/disk-pressure:NoSchedule"]), node("b"), pod("x", cpu="4", on="b")],
        pod("p", cpu="1"),
        ("patch", ("Node", "a", {"spec": {"taints": None}})),
    ),
]

SITUATIONS = [*RESOURCES, *NODES, *PORTS_AND_GATES, *AFFINITY, *SPREAD, *VOLUMES, *PREEMPTION, *MIXED]
