"""The admission chain of an api-server, in Kubernetes' order (its AllOrderedPlugins, those on by default).

To add a plugin, write its file and add one line to the list in `build_chain`. Off by default, and left out
as Kubernetes leaves them out: AlwaysPullImages, PodTolerationRestriction, EventRateLimit,
OwnerReferencesPermissionEnforcement and the like; `extra` takes any of your own.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from clusters.emulated.apiserver.admission.attributes import AdmissionPlugin
from clusters.emulated.apiserver.admission.authorizing import Authorize
from clusters.emulated.apiserver.admission.chain import AdmissionChain
from clusters.emulated.apiserver.admission.matching import Equivalents, no_equivalents
from clusters.emulated.apiserver.admission.mutating.default_ingress_class import DefaultIngressClass
from clusters.emulated.apiserver.admission.mutating.default_storage_class import DefaultStorageClass
from clusters.emulated.apiserver.admission.mutating.default_toleration_seconds import DefaultTolerationSeconds
from clusters.emulated.apiserver.admission.mutating.limit_ranger import LimitRanger
from clusters.emulated.apiserver.admission.mutating.namespace_lifecycle import NamespaceLifecycle
from clusters.emulated.apiserver.admission.mutating.node_restriction import NodeRestriction
from clusters.emulated.apiserver.admission.mutating.pod_topology_labels import PodTopologyLabels
from clusters.emulated.apiserver.admission.mutating.priority import Priority
from clusters.emulated.apiserver.admission.mutating.runtime_class import RuntimeClass
from clusters.emulated.apiserver.admission.mutating.service_account import ServiceAccount
from clusters.emulated.apiserver.admission.mutating.storage_object_in_use_protection import (
    StorageObjectInUseProtection,
)
from clusters.emulated.apiserver.admission.mutating.taint_nodes_by_condition import TaintNodesByCondition
from clusters.emulated.apiserver.admission.policies.apply_configuration import (
    ConfigurationMerger,
    ObjectTypeFor,
    built_in_type,
)
from clusters.emulated.apiserver.admission.policies.mutating import MutatingAdmissionPolicy
from clusters.emulated.apiserver.admission.policies.parameters import (
    Parameters,
    ParamResource,
    ResourceForKind,
)
from clusters.emulated.apiserver.admission.policies.validating import ValidatingAdmissionPolicy
from clusters.emulated.apiserver.admission.shapes import Convert, Redecode, keep_object, keep_version
from clusters.emulated.apiserver.admission.validating.certificates import (
    CertificateApproval,
    CertificateSigning,
    CertificateSubjectRestriction,
    ClusterTrustBundleAttest,
)
from clusters.emulated.apiserver.admission.validating.node_declared_feature_validator import (
    NodeDeclaredFeatureValidator,
)
from clusters.emulated.apiserver.admission.validating.persistent_volume_claim_resize import (
    PersistentVolumeClaimResize,
)
from clusters.emulated.apiserver.admission.validating.pod_resize_validator import PodResizeValidator
from clusters.emulated.apiserver.admission.validating.pod_security import Exemptions, PodSecurity
from clusters.emulated.apiserver.admission.validating.resource_quota import ResourceQuota
from clusters.emulated.apiserver.admission.webhooks.call import (
    Outbound,
    ResolveService,
    ServiceResolutionError,
    WebhookCaller,
)
from clusters.emulated.apiserver.admission.webhooks.mutating import MutatingAdmissionWebhook
from clusters.emulated.apiserver.admission.webhooks.validating import ValidatingAdmissionWebhook
from clusters.emulated.apiserver.objects import Objects
from clusters.emulated.clock.clock import Clock
from clusters.emulated.clock.randomness import Randomness
from clusters.emulated.outbound.dial import Address
from clusters.kube.gostring import quote


async def no_services(namespace: str, name: str, port: int) -> Address:
    """A `ResolveService` for clusters without Services."""
    raise ServiceResolutionError(f"service {quote(name)} not found")


def no_param_kinds(group: str, version: str, kind: str) -> ParamResource | None:
    """A `ResourceForKind` that knows ConfigMaps only."""
    return ParamResource("configmaps", True) if (group, version, kind) == ("", "v1", "ConfigMap") else None


def build_chain(
    *,
    objects: Objects,
    outbound: Outbound,
    clock: Clock,
    randomness: Randomness,
    authorize: Authorize,
    resolve_service: ResolveService = no_services,
    convert: Convert = keep_version,
    redecode: Redecode = keep_object,
    equivalents: Equivalents = no_equivalents,
    resource_for_kind: ResourceForKind = no_param_kinds,
    object_type: ObjectTypeFor = built_in_type,
    pod_security_exemptions: Exemptions | None = None,
    make_caller: Callable[..., WebhookCaller] = WebhookCaller,
    extra: Sequence[AdmissionPlugin] = (),
) -> AdmissionChain:
    """The default plugins plus NodeRestriction.

    - `objects`: the api-server's own informers and live reads;
    - `outbound`: HTTPS to webhooks, usually an `OutboundClient`; `resolve_service`: where their Services are;
    - `clock`: webhook timeouts, waiting for a default ServiceAccount, pods past their grace period;
    - `randomness`: names of token volumes, uids of reviews;
    - `authorize`: hop 3, asked by certificates, NodeRestriction and `authorizer` in CEL;
    - `convert`: an object in the version a webhook or policy asked for; `redecode`: one that was changed,
      decoded and defaulted again; `equivalents`: other groups and versions of a resource;
    - `resource_for_kind`: which resource serves a policy's paramKind;
    - `object_type`: how fields of a kind merge, for ApplyConfiguration mutations;
    - `make_caller`: who calls webhooks, e.g. one that counts;
    - `extra`: plugins of your own, run after the built-in ones and before policies.
    """
    caller = make_caller(outbound, resolve_service, clock, randomness)
    parameters = Parameters(objects, resource_for_kind, convert)
    merge = ConfigurationMerger(object_type)
    return AdmissionChain(
        (
            NamespaceLifecycle(objects, clock),
            LimitRanger(objects),
            ServiceAccount(objects, clock, randomness),
            NodeRestriction(objects, authorize),
            TaintNodesByCondition(),
            PodSecurity(objects, pod_security_exemptions),
            Priority(objects),
            DefaultTolerationSeconds(),
            DefaultStorageClass(objects),
            StorageObjectInUseProtection(),
            PersistentVolumeClaimResize(objects),
            RuntimeClass(objects),
            CertificateApproval(authorize),
            CertificateSigning(authorize),
            ClusterTrustBundleAttest(authorize),
            CertificateSubjectRestriction(),
            DefaultIngressClass(objects),
            PodTopologyLabels(objects),
            NodeDeclaredFeatureValidator(objects),
            PodResizeValidator(objects),
            *extra,
            MutatingAdmissionPolicy(objects, authorize, convert, redecode, equivalents, parameters, merge),
            MutatingAdmissionWebhook(objects, caller, clock, authorize, convert, redecode, equivalents),
            ValidatingAdmissionPolicy(objects, authorize, convert, equivalents, parameters),
            ValidatingAdmissionWebhook(objects, caller, clock, authorize, convert, equivalents),
            ResourceQuota(objects, clock),
        )
    )
