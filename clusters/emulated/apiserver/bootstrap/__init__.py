"""What a fresh control plane holds before anybody asked for anything."""

from clusters.emulated.apiserver.bootstrap.objects import (
    Control,
    bootstrap_objects,
    cluster_objects,
    node_rules,
    shared_objects,
)

__all__ = ["Control", "bootstrap_objects", "cluster_objects", "node_rules", "shared_objects"]
