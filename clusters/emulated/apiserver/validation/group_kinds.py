"""The rules of every built-in kind outside core/v1: one instance each, imported at first use."""

from __future__ import annotations

from clusters.emulated.apiserver.validation.deferred import deferred
from clusters.emulated.apiserver.validation.rules import KindRules

_ADMISSION = "admissionregistration"

# API group → (kind, module below this package).
_KINDS: tuple[tuple[str, tuple[tuple[str, str], ...]], ...] = (
    (
        "apps",
        (
            ("Deployment", "apps.deployment"),
            ("ReplicaSet", "apps.replicaset"),
            ("StatefulSet", "apps.statefulset"),
            ("DaemonSet", "apps.daemonset"),
            ("ControllerRevision", "apps.controllerrevision"),
        ),
    ),
    ("batch", (("Job", "batch.job"), ("CronJob", "batch.cronjob"))),
    (
        "rbac.authorization.k8s.io",
        (
            ("Role", "rbac.role"),
            ("ClusterRole", "rbac.role"),
            ("RoleBinding", "rbac.binding"),
            ("ClusterRoleBinding", "rbac.binding"),
        ),
    ),
    (
        "networking.k8s.io",
        (
            ("Ingress", "networking.ingress"),
            ("IngressClass", "networking.ingress"),
            ("NetworkPolicy", "networking.networkpolicy"),
            ("IPAddress", "networking.addresses"),
            ("ServiceCIDR", "networking.addresses"),
        ),
    ),
    ("policy", (("PodDisruptionBudget", "policy.poddisruptionbudget"), ("Eviction", "policy.eviction"))),
    ("autoscaling", (("HorizontalPodAutoscaler", "autoscaling.horizontalpodautoscaler"),)),
    (
        "storage.k8s.io",
        (
            ("StorageClass", "storage.classes"),
            ("CSIDriver", "storage.csi"),
            ("CSINode", "storage.csi"),
            ("VolumeAttachment", "storage.volumeattachment"),
            ("CSIStorageCapacity", "storage.classes"),
            ("VolumeAttributesClass", "storage.classes"),
        ),
    ),
    ("scheduling.k8s.io", (("PriorityClass", "scheduling.priorityclass"),)),
    ("node.k8s.io", (("RuntimeClass", "node.runtimeclass"),)),
    ("coordination.k8s.io", (("Lease", "coordination.lease"),)),
    ("events.k8s.io", (("Event", "events.event"),)),
    ("discovery.k8s.io", (("EndpointSlice", "discovery.endpointslice"),)),
    ("certificates.k8s.io", (("CertificateSigningRequest", "certificates.certificatesigningrequest"),)),
    (
        "admissionregistration.k8s.io",
        (
            ("MutatingWebhookConfiguration", f"{_ADMISSION}.webhooks"),
            ("ValidatingWebhookConfiguration", f"{_ADMISSION}.webhooks"),
            ("ValidatingAdmissionPolicy", f"{_ADMISSION}.policies"),
            ("ValidatingAdmissionPolicyBinding", f"{_ADMISSION}.bindings"),
            ("MutatingAdmissionPolicy", f"{_ADMISSION}.policies"),
            ("MutatingAdmissionPolicyBinding", f"{_ADMISSION}.bindings"),
        ),
    ),
    (
        "flowcontrol.apiserver.k8s.io",
        (
            ("FlowSchema", "flowcontrol.flowschema"),
            ("PriorityLevelConfiguration", "flowcontrol.prioritylevelconfiguration"),
        ),
    ),
    ("apiregistration.k8s.io", (("APIService", "apiregistration.apiservice"),)),
    (
        "resource.k8s.io",
        (
            ("DeviceClass", "resource.claims"),
            ("ResourceClaim", "resource.claims"),
            ("ResourceClaimTemplate", "resource.claims"),
            ("ResourceSlice", "resource.resourceslice"),
        ),
    ),
    ("apiextensions.k8s.io", (("CustomResourceDefinition", "apiextensions.customresourcedefinition"),)),
)

GROUP_RULES: tuple[KindRules, ...] = tuple(
    deferred(group, kind, module) for group, kinds in _KINDS for kind, module in kinds
)
