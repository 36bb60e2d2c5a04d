"""The default profile: which plugins run, in which order, and how much their scores weigh."""

from __future__ import annotations

from clusters.emulated.scheduler.cache import Cache
from clusters.emulated.scheduler.listers import Listers
from clusters.emulated.scheduler.plugin import Plugin
from clusters.emulated.scheduler.plugins.default_preemption import DefaultPreemption
from clusters.emulated.scheduler.plugins.dynamic_resources import DynamicResources
from clusters.emulated.scheduler.plugins.image_locality import ImageLocality
from clusters.emulated.scheduler.plugins.inter_pod_affinity import InterPodAffinity
from clusters.emulated.scheduler.plugins.node_affinity import NodeAffinity
from clusters.emulated.scheduler.plugins.node_declared_features import NodeDeclaredFeatures
from clusters.emulated.scheduler.plugins.node_name import NodeName
from clusters.emulated.scheduler.plugins.node_ports import NodePorts
from clusters.emulated.scheduler.plugins.node_resources_balanced_allocation import NodeResourcesBalancedAllocation
from clusters.emulated.scheduler.plugins.node_resources_fit import NodeResourcesFit
from clusters.emulated.scheduler.plugins.node_unschedulable import NodeUnschedulable
from clusters.emulated.scheduler.plugins.node_volume_limits import NodeVolumeLimits
from clusters.emulated.scheduler.plugins.pod_topology_spread import PodTopologySpread
from clusters.emulated.scheduler.plugins.scheduling_gates import SchedulingGates
from clusters.emulated.scheduler.plugins.taint_toleration import TaintToleration
from clusters.emulated.scheduler.plugins.volume_binding import VolumeBinding
from clusters.emulated.scheduler.plugins.volume_restrictions import VolumeRestrictions
from clusters.emulated.scheduler.plugins.volume_zone import VolumeZone
from clusters.emulated.scheduler.volumes.binder import VolumeBinder


def default_profile(
    cache: Cache, listers: Listers, binder: VolumeBinder, preemption: DefaultPreemption
) -> list[tuple[Plugin, int]]:
    """(plugin, weight of its scores). PrioritySort is the order of the queue, DefaultBinder the Binding itself."""
    return [
        (SchedulingGates(), 0),
        (NodeUnschedulable(cache), 0),
        (NodeName(), 0),
        (TaintToleration(cache), 3),
        (NodeAffinity(), 2),
        (NodePorts(), 0),
        (NodeResourcesFit(), 1),
        (VolumeRestrictions(cache, listers), 0),
        (NodeVolumeLimits(listers), 0),
        (VolumeBinding(listers, binder), 0),
        (VolumeZone(listers), 0),
        (PodTopologySpread(cache, listers), 2),
        (InterPodAffinity(cache, listers), 2),
        (DynamicResources(listers), 0),
        (preemption, 0),
        (NodeResourcesBalancedAllocation(), 1),
        (ImageLocality(cache), 1),
        (NodeDeclaredFeatures(), 0),
    ]
