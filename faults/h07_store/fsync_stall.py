from __future__ import annotations

from contextlib import AbstractContextManager
from dataclasses import dataclass

from clusters.base import Cluster, Lever
from faults.contract import Fault, Runbook
from faults.objects import CONFIG_MAPS, config_map
from faults.requests import post
from faults.symptoms import Symptom, response

WRITE = post(CONFIG_MAPS, config_map("probe-"))


@dataclass(frozen=True)
class FsyncStall(Fault):
    """The disk under etcd takes so long for an fsync that writes are given up."""

    hop = 7
    title = "etcd's disk stalls"
    documented = "every write slows down by the stall; alert above 50 ms p99"
    observed_difference = "a stall of 20 s does not slow writes down: they fail, 500 without a reason, after 7 s"
    needs = ("store.stall_fsync",)
    runbook = Runbook(
        detect="etcd_disk_wal_fsync_duration_seconds p99 above 50 ms; apiserver_request_duration_seconds of writes",
        diagnose="iostat -x on the etcd host; journal of etcd: 'slow fdatasync'",
        remedy="move etcd to a disk of its own, stop whoever saturates this one",
        verify="kubectl create configmap probe --from-literal=a=b ends within 100 ms",
        references=("https://etcd.io/docs/v3.6/tuning/#disk",),
    )
    stall_s: float = 20.0

    def inject(self, cluster: Cluster) -> AbstractContextManager[Lever]:
        return cluster.levers.store.stall_fsync(self.stall_s)

    def symptom(self) -> Symptom:
        return response(WRITE, 500, "", "etcdserver: request timed out", took_s=(6.9, 7.5))

    def recovery(self) -> Symptom:
        return response(WRITE, 201, took_s=(0, 1))
