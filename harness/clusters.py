"""From options to a cluster: which backend, and how it is to be."""

from __future__ import annotations

from typing import TYPE_CHECKING

from clusters.base import ClusterShape
from harness.options import Options, minor_version, new_clock

if TYPE_CHECKING:
    from clusters.emulated.apiserver.access import AccessOptions
    from clusters.emulated.cluster import EmulatedCluster


def open_cluster(
    options: Options,
    shape: ClusterShape = ClusterShape(),  # noqa: B008
    *,
    replicas: int | None = None,
    access: AccessOptions | None = None,
) -> EmulatedCluster:
    """A fresh one of this shape; closing it, or leaving its `with` block, ends everything it started."""
    from clusters.emulated.apiserver.access import AccessOptions
    from clusters.emulated.cluster import EmulatedCluster
    from clusters.emulated.control_plane import ControlPlaneOptions

    return EmulatedCluster(
        ControlPlaneOptions(
            version=minor_version(options.kube_version),
            replicas=replicas or shape.replicas,
            front=shape.front,
            clock=new_clock(options.clock),
            seed=options.seed,
            access=access or AccessOptions(),
        ),
        components=shape.components,
        nodes=shape.nodes,
    )
