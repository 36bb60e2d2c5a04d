"""All hooks by the resource whose storage they belong to."""

from __future__ import annotations

from dataclasses import dataclass

from clusters.emulated.apiserver.authorization.escalation import EscalationCheck
from clusters.emulated.apiserver.objects import Objects
from clusters.emulated.apiserver.registry.hooks.certificates import CertificateSigningRequestHooks
from clusters.emulated.apiserver.registry.hooks.cluster_ips import ClusterIps
from clusters.emulated.apiserver.registry.hooks.contract import Hooks
from clusters.emulated.apiserver.registry.hooks.dependents import EventHooks, JobHooks, ReplicationControllerHooks
from clusters.emulated.apiserver.registry.hooks.loopback import Loopback
from clusters.emulated.apiserver.registry.hooks.namespaces import NamespaceHooks
from clusters.emulated.apiserver.registry.hooks.node_ports import NodePorts
from clusters.emulated.apiserver.registry.hooks.persistent_volumes import PersistentVolumeHooks
from clusters.emulated.apiserver.registry.hooks.pods import PodHooks
from clusters.emulated.apiserver.registry.hooks.rbac import BindingHooks, RoleHooks
from clusters.emulated.apiserver.registry.hooks.services import ServiceHooks
from clusters.emulated.apiserver.registry.storage import ResourceStorage
from clusters.emulated.clock import Randomness


@dataclass(frozen=True, slots=True)
class HookDependencies:
    objects: Objects
    storages: dict[str, ResourceStorage]
    loopback: Loopback
    escalation: EscalationCheck
    randomness: Randomness
    service_cidrs: tuple[str, ...] = ("10.96.0.0/12",)


def hooks(needs: HookDependencies) -> dict[str, Hooks]:
    cluster_ips = ClusterIps(needs.service_cidrs, needs.objects, needs.loopback, needs.randomness)
    node_ports = NodePorts(needs.storages["services"], needs.randomness)
    roles, bindings = RoleHooks(needs.escalation), BindingHooks(needs.escalation)
    rbac = "rbac.authorization.k8s.io"
    return {
        "pods": PodHooks(),
        "namespaces": NamespaceHooks(),
        "events": EventHooks(),
        "persistentvolumes": PersistentVolumeHooks(),
        "replicationcontrollers": ReplicationControllerHooks(),
        "jobs.batch": JobHooks(),
        "services": ServiceHooks(cluster_ips, node_ports, needs.loopback),
        f"roles.{rbac}": roles,
        f"clusterroles.{rbac}": roles,
        f"rolebindings.{rbac}": bindings,
        f"clusterrolebindings.{rbac}": bindings,
        "certificatesigningrequests.certificates.k8s.io": CertificateSigningRequestHooks(),
    }
