"""The kinds of the core group, each with its rules, which are imported when they are first asked."""

from __future__ import annotations

from clusters.emulated.apiserver.validation.deferred import deferred
from clusters.emulated.apiserver.validation.rules import KindRules

CORE_RULES: tuple[KindRules, ...] = (
    deferred("", "Pod", "pod.rules"),
    deferred("", "Service", "core.service"),
    deferred("", "Endpoints", "core.endpoints"),
    deferred("", "ConfigMap", "core.configmap"),
    deferred("", "Secret", "core.secret"),
    deferred("", "ServiceAccount", "core.serviceaccount"),
    deferred("", "Namespace", "core.namespace"),
    deferred("", "Node", "core.node"),
    deferred("", "PersistentVolume", "core.persistentvolume"),
    deferred("", "PersistentVolumeClaim", "core.persistentvolumeclaim"),
    deferred("", "ResourceQuota", "core.resourcequota"),
    deferred("", "LimitRange", "core.limitrange"),
    deferred("", "Event", "core.event"),
    deferred("", "ReplicationController", "core.replicationcontroller"),
    deferred("", "PodTemplate", "core.podtemplate"),
    deferred("", "Binding", "core.binding"),
)
