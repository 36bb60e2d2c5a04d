"""Measures the emulated api-server, as ratios against a real one in the same run where its binaries are given.

    python -m benchmarks [--assets DIR] [--quick]

The same load generator asks both, in a process of its own, over TLS with client certificates and keep-alive.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field

from benchmarks import servers, watchers
from benchmarks.load import Call, Result, run
from benchmarks.servers import Server

# A real etcd 3.6 + kube-apiserver v1.36.4 on two cores, client on the same cores.
REFERENCE = {
    "ready_s": 3.0, "get_rps": 3100, "create_rps": 1800, "patch_rps": 1270, "list500_rps": 290,
    "fan_out_p50_ms": 15, "fan_out_p99_ms": 20, "rss_idle_mb": 260,
}  # fmt: skip
SMALLER_IS_BETTER = ("ready_s", "fan_out_p50_ms", "fan_out_p99_ms", "rss_idle_mb", "rss_loaded_mb", "idle_watches_mb")
NAMESPACE = "/api/v1/namespaces/bench"
MAPS = f"{NAMESPACE}/configmaps"


@dataclass(slots=True)
class Figures:
    name: str
    values: dict[str, float] = field(default_factory=dict)


def body(number: int) -> bytes:
    data = {"k": "v" * 400}
    return json.dumps({"metadata": {"name": f"c{number:05d}"}, "data": data}).encode()


async def measure(server: Server, scale: float) -> Figures:
    figures = Figures(server.name, {"ready_s": server.start_s, "rss_idle_mb": server.rss_mb()})
    values = figures.values
    requests = int(4000 * scale)

    async def load(call: Callable[[int], Call], count: int, connections: int = 16) -> Result:
        return await run(server.url, call, connections=connections, requests=count, tls=server.tls)

    def checked(result: Result, status: int) -> float:
        if set(result.statuses) != {status}:
            raise RuntimeError(f"{server.name} answered {dict(result.statuses)} where {status} was expected")
        return result.rps

    checked(await load(lambda _: Call("POST", "/api/v1/namespaces", b'{"metadata":{"name":"bench"}}'), 1, 1), 201)
    values["create_rps"] = checked(await load(lambda i: Call("POST", MAPS, body(i)), requests), 201)
    values["get_rps"] = checked(await load(lambda i: Call("GET", f"{MAPS}/c{i % requests:05d}"), requests * 2), 200)

    def patch(number: int) -> Call:
        change = json.dumps({"data": {"k": str(number)}}).encode()
        return Call("PATCH", f"{MAPS}/c{number % 16:05d}", change, "application/merge-patch+json")

    values["patch_rps"] = checked(await load(patch, requests), 200)
    checked(await load(lambda i: Call("DELETE", f"{MAPS}/c{i + 500:05d}"), requests - 500), 200)
    values["list500_rps"] = checked(await load(lambda _: Call("GET", MAPS), int(400 * scale)), 200)
    took_ms = await watchers.fan_out_ms(server.url, server.tls, MAPS, "c00000", 500, max(5, int(30 * scale)))
    values["fan_out_p50_ms"] = statistics.median(took_ms)
    values["fan_out_p99_ms"] = max(took_ms)
    before_mb = server.rss_mb()
    open_watches = await watchers.idle(
        server.url, server.tls, f"{MAPS}?watch=1&resourceVersion=0&labelSelector=x%3Dy", 1000
    )
    values["idle_watches_mb"] = server.rss_mb() - before_mb
    values["rss_loaded_mb"] = server.rss_mb()
    for watcher in open_watches:
        watcher.transport.close()
    return figures


def in_process() -> dict[str, float]:
    """Imports and clusters inside one process, as a test run pays for them."""
    code = (
        "import time; t=time.perf_counter()\n"
        "from clusters.emulated.cluster import EmulatedCluster\n"
        "c=EmulatedCluster(); a=time.perf_counter()-t; c.close(); n=20; t=time.perf_counter();\n"
        "for _ in range(n): EmulatedCluster().close()\n"
        "print(a, (time.perf_counter()-t)/n)"
    )
    output = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    return {"first_cluster_s": float(output[0]), "further_cluster_ms": float(output[1]) * 1000}


def show(ours: Figures, other: dict[str, float], other_name: str) -> None:
    print(f"{'':18} {'kaput':>10} {other_name:>12}  ratio (above 1: kaput is better)")
    for name, value in ours.values.items():
        against = other.get(name)
        if against is None:
            print(f"{name:18} {value:10.1f}")
            continue
        ratio = against / value if name in SMALLER_IS_BETTER else value / against
        print(f"{name:18} {value:10.1f} {against:12.1f}  {ratio:6.2f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--assets", help="directory with etcd and kube-apiserver")
    parser.add_argument("--quick", action="store_true", help="a tenth of the load, for a first look")
    options = parser.parse_args()
    scale = 0.2 if options.quick else 1.0
    found = servers.find_real(options.assets)
    began_s = time.perf_counter()
    with ExitStack() as running:
        print("measuring kaput …", file=sys.stderr)
        ours = asyncio.run(measure(running.enter_context(servers.emulated()), scale))
    ours.values |= in_process()
    if found is None:
        print("no etcd and kube-apiserver found: beside reference figures of a like machine", file=sys.stderr)
        show(ours, REFERENCE, "reference")
    else:
        with ExitStack() as running:
            print("measuring the real api-server …", file=sys.stderr)
            other = asyncio.run(measure(running.enter_context(servers.real(*found)), scale))
        show(ours, other.values, "real")
    print(f"took {time.perf_counter() - began_s:.0f} s", file=sys.stderr)


if __name__ == "__main__":
    main()
