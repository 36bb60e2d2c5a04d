"""The kinds of the core group, each with its rules."""

from __future__ import annotations

from clusters.emulated.apiserver.validation.core.binding import BindingRules
from clusters.emulated.apiserver.validation.core.configmap import ConfigMapRules
from clusters.emulated.apiserver.validation.core.endpoints import EndpointsRules
from clusters.emulated.apiserver.validation.core.event import EventRules
from clusters.emulated.apiserver.validation.core.limitrange import LimitRangeRules
from clusters.emulated.apiserver.validation.core.namespace import NamespaceRules
from clusters.emulated.apiserver.validation.core.node import NodeRules
from clusters.emulated.apiserver.validation.core.persistentvolume import PersistentVolumeRules
from clusters.emulated.apiserver.validation.core.persistentvolumeclaim import PersistentVolumeClaimRules
from clusters.emulated.apiserver.validation.core.podtemplate import PodTemplateRules
from clusters.emulated.apiserver.validation.core.replicationcontroller import ReplicationControllerRules
from clusters.emulated.apiserver.validation.core.resourcequota import ResourceQuotaRules
from clusters.emulated.apiserver.validation.core.secret import SecretRules
from clusters.emulated.apiserver.validation.core.service import ServiceRules
from clusters.emulated.apiserver.validation.core.serviceaccount import ServiceAccountRules
from clusters.emulated.apiserver.validation.pod.rules import PodRules
from clusters.emulated.apiserver.validation.rules import KindRules

CORE_RULES: tuple[KindRules, ...] = (
    PodRules(),
    ServiceRules(),
    EndpointsRules(),
    ConfigMapRules(),
    SecretRules(),
    ServiceAccountRules(),
    NamespaceRules(),
    NodeRules(),
    PersistentVolumeRules(),
    PersistentVolumeClaimRules(),
    ResourceQuotaRules(),
    LimitRangeRules(),
    EventRules(),
    ReplicationControllerRules(),
    PodTemplateRules(),
    BindingRules(),
)
