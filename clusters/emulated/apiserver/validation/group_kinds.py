"""The rules of every built-in kind outside core/v1: one instance each."""

from __future__ import annotations

from clusters.emulated.apiserver.validation.admissionregistration.bindings import (
    MutatingAdmissionPolicyBindingRules,
    ValidatingAdmissionPolicyBindingRules,
)
from clusters.emulated.apiserver.validation.admissionregistration.policies import (
    MutatingAdmissionPolicyRules,
    ValidatingAdmissionPolicyRules,
)
from clusters.emulated.apiserver.validation.admissionregistration.webhooks import (
    MutatingWebhookConfigurationRules,
    ValidatingWebhookConfigurationRules,
)
from clusters.emulated.apiserver.validation.apiextensions.customresourcedefinition import (
    CustomResourceDefinitionRules,
)
from clusters.emulated.apiserver.validation.apiregistration.apiservice import APIServiceRules
from clusters.emulated.apiserver.validation.apps.controllerrevision import ControllerRevisionRules
from clusters.emulated.apiserver.validation.apps.daemonset import DaemonSetRules
from clusters.emulated.apiserver.validation.apps.deployment import DeploymentRules
from clusters.emulated.apiserver.validation.apps.replicaset import ReplicaSetRules
from clusters.emulated.apiserver.validation.apps.statefulset import StatefulSetRules
from clusters.emulated.apiserver.validation.autoscaling.horizontalpodautoscaler import (
    HorizontalPodAutoscalerRules,
)
from clusters.emulated.apiserver.validation.batch.cronjob import CronJobRules
from clusters.emulated.apiserver.validation.batch.job import JobRules
from clusters.emulated.apiserver.validation.certificates.certificatesigningrequest import (
    CertificateSigningRequestRules,
)
from clusters.emulated.apiserver.validation.coordination.lease import LeaseRules
from clusters.emulated.apiserver.validation.discovery.endpointslice import EndpointSliceRules
from clusters.emulated.apiserver.validation.events.event import EventRules
from clusters.emulated.apiserver.validation.flowcontrol.flowschema import FlowSchemaRules
from clusters.emulated.apiserver.validation.flowcontrol.prioritylevelconfiguration import (
    PriorityLevelConfigurationRules,
)
from clusters.emulated.apiserver.validation.networking.addresses import IPAddressRules, ServiceCIDRRules
from clusters.emulated.apiserver.validation.networking.ingress import IngressClassRules, IngressRules
from clusters.emulated.apiserver.validation.networking.networkpolicy import NetworkPolicyRules
from clusters.emulated.apiserver.validation.node.runtimeclass import RuntimeClassRules
from clusters.emulated.apiserver.validation.policy.poddisruptionbudget import PodDisruptionBudgetRules
from clusters.emulated.apiserver.validation.rbac.binding import ClusterRoleBindingRules, RoleBindingRules
from clusters.emulated.apiserver.validation.rbac.role import ClusterRoleRules, RoleRules
from clusters.emulated.apiserver.validation.resource.claims import (
    DeviceClassRules,
    ResourceClaimRules,
    ResourceClaimTemplateRules,
)
from clusters.emulated.apiserver.validation.resource.resourceslice import ResourceSliceRules
from clusters.emulated.apiserver.validation.rules import KindRules
from clusters.emulated.apiserver.validation.scheduling.priorityclass import PriorityClassRules
from clusters.emulated.apiserver.validation.storage.classes import (
    CSIStorageCapacityRules,
    StorageClassRules,
    VolumeAttributesClassRules,
)
from clusters.emulated.apiserver.validation.storage.csi import CSIDriverRules, CSINodeRules
from clusters.emulated.apiserver.validation.storage.volumeattachment import VolumeAttachmentRules

GROUP_RULES: tuple[KindRules, ...] = (
    DeploymentRules(),
    ReplicaSetRules(),
    StatefulSetRules(),
    DaemonSetRules(),
    ControllerRevisionRules(),
    JobRules(),
    CronJobRules(),
    RoleRules(),
    ClusterRoleRules(),
    RoleBindingRules(),
    ClusterRoleBindingRules(),
    IngressRules(),
    IngressClassRules(),
    NetworkPolicyRules(),
    IPAddressRules(),
    ServiceCIDRRules(),
    PodDisruptionBudgetRules(),
    HorizontalPodAutoscalerRules(),
    StorageClassRules(),
    CSIDriverRules(),
    CSINodeRules(),
    VolumeAttachmentRules(),
    CSIStorageCapacityRules(),
    VolumeAttributesClassRules(),
    PriorityClassRules(),
    RuntimeClassRules(),
    LeaseRules(),
    EventRules(),
    EndpointSliceRules(),
    CertificateSigningRequestRules(),
    MutatingWebhookConfigurationRules(),
    ValidatingWebhookConfigurationRules(),
    ValidatingAdmissionPolicyRules(),
    ValidatingAdmissionPolicyBindingRules(),
    MutatingAdmissionPolicyRules(),
    MutatingAdmissionPolicyBindingRules(),
    FlowSchemaRules(),
    PriorityLevelConfigurationRules(),
    APIServiceRules(),
    DeviceClassRules(),
    ResourceClaimRules(),
    ResourceClaimTemplateRules(),
    ResourceSliceRules(),
    CustomResourceDefinitionRules(),
)
