"""Hop 9: the control loops of kube-controller-manager, one file each.

To add one, write its file and add one line to `CONTROLLERS`.
"""

from __future__ import annotations

from clusters.emulated.client.controller import Controller
from clusters.emulated.controllers.cluster_role_aggregation import ClusterRoleAggregation
from clusters.emulated.controllers.cron_job import CronJobController
from clusters.emulated.controllers.csr_approving import CsrApprovingController
from clusters.emulated.controllers.csr_cleaner import CsrCleanerController
from clusters.emulated.controllers.csr_signing import CsrSigningController
from clusters.emulated.controllers.daemon_set import DaemonSetController
from clusters.emulated.controllers.deployment import DeploymentController
from clusters.emulated.controllers.disruption import DisruptionController
from clusters.emulated.controllers.endpoint_slice import EndpointSliceController
from clusters.emulated.controllers.endpoints import EndpointsController
from clusters.emulated.controllers.ephemeral_volume import EphemeralVolumeController
from clusters.emulated.controllers.garbage_collector import GarbageCollector
from clusters.emulated.controllers.job import JobController
from clusters.emulated.controllers.namespace import NamespaceController
from clusters.emulated.controllers.node_lifecycle import NodeLifecycleController
from clusters.emulated.controllers.persistent_volume_binder import PersistentVolumeBinder
from clusters.emulated.controllers.pod_gc import PodGarbageCollector
from clusters.emulated.controllers.pv_protection import PvProtectionController
from clusters.emulated.controllers.pvc_protection import PvcProtectionController
from clusters.emulated.controllers.replica_set import ReplicaSetController, ReplicationControllerController
from clusters.emulated.controllers.resource_quota import ResourceQuotaController
from clusters.emulated.controllers.root_ca import RootCaPublisher
from clusters.emulated.controllers.service_account_tokens import ServiceAccountTokensController
from clusters.emulated.controllers.service_accounts import ServiceAccountsController
from clusters.emulated.controllers.stateful_set import StatefulSetController
from clusters.emulated.controllers.stub_provisioner import StubProvisioner
from clusters.emulated.controllers.taint_eviction import TaintEvictionController
from clusters.emulated.controllers.ttl_after_finished import TtlAfterFinishedController

CONTROLLERS: list[type[Controller]] = [
    ServiceAccountsController,
    RootCaPublisher,
    NamespaceController,
    GarbageCollector,
    ClusterRoleAggregation,
    EndpointSliceController,
    EndpointsController,
    NodeLifecycleController,
    TaintEvictionController,
    ReplicaSetController,
    ReplicationControllerController,
    DeploymentController,
    StatefulSetController,
    DaemonSetController,
    JobController,
    CronJobController,
    TtlAfterFinishedController,
    DisruptionController,
    PersistentVolumeBinder,
    StubProvisioner,
    PvcProtectionController,
    PvProtectionController,
    EphemeralVolumeController,
    PodGarbageCollector,
    ResourceQuotaController,
    ServiceAccountTokensController,
    CsrApprovingController,
    CsrSigningController,
    CsrCleanerController,
]
