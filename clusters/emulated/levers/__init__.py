"""What can be broken on an emulated cluster, from the test's thread: pulled by `with`, healed by leaving it.

with cluster.levers.store.freeze() as frozen:
    ...
assert frozen.fired

One file per group; a group is made when somebody asks for it.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from clusters.base import LeverMissingError
from clusters.emulated.store.embedded import EmbeddedStore

if TYPE_CHECKING:
    from clusters.emulated.cluster import EmulatedCluster
    from clusters.emulated.levers.aggregation import AggregationLevers
    from clusters.emulated.levers.authentication import AuthenticationLevers
    from clusters.emulated.levers.client import ClientLevers
    from clusters.emulated.levers.components import ComponentLevers
    from clusters.emulated.levers.flow import FlowLevers
    from clusters.emulated.levers.replicas import ReplicaLevers
    from clusters.emulated.levers.schema import SchemaLevers
    from clusters.emulated.levers.store import StoreLevers
    from clusters.emulated.levers.tls import TlsLevers
    from clusters.emulated.levers.watch import WatchLevers
    from clusters.emulated.levers.webhooks import WebhookLevers
    from clusters.object_levers import ObjectLevers

__all__ = ["LeverMissingError", "Levers"]


class Levers:
    """All levers of a cluster, by the component they break."""

    def __init__(self, cluster: EmulatedCluster) -> None:
        self._cluster = cluster

    @cached_property
    def objects(self) -> ObjectLevers:
        from clusters.object_levers import ObjectLevers

        return ObjectLevers(self._cluster.api)

    @cached_property
    def client(self) -> ClientLevers:
        """Hop 1."""
        from clusters.emulated.levers.client import ClientLevers

        return ClientLevers(self._cluster)

    @cached_property
    def tls(self) -> TlsLevers:
        """Hop 2."""
        from clusters.emulated.levers.tls import TlsLevers

        return TlsLevers(self._cluster)

    @cached_property
    def authentication(self) -> AuthenticationLevers:
        """Hop 2."""
        from clusters.emulated.levers.authentication import AuthenticationLevers

        return AuthenticationLevers(self._cluster)

    @cached_property
    def flow(self) -> FlowLevers:
        from clusters.emulated.levers.flow import FlowLevers

        return FlowLevers(self._cluster)

    @cached_property
    def webhooks(self) -> WebhookLevers:
        """Hops 4 and 6."""
        from clusters.emulated.levers.webhooks import WebhookLevers

        return WebhookLevers(self._cluster)

    @cached_property
    def schema(self) -> SchemaLevers:
        """Hop 5."""
        from clusters.emulated.levers.schema import SchemaLevers

        return SchemaLevers(self._cluster)

    @cached_property
    def store(self) -> StoreLevers:
        """Hop 7."""
        from clusters.emulated.levers.store import StoreLevers

        plane = self._cluster.plane
        if not isinstance(plane.store, EmbeddedStore):
            raise LeverMissingError("the levers of the store need the embedded one; this cluster runs on a real etcd")
        return StoreLevers(plane.store, plane.clock, self._cluster.run)

    @cached_property
    def watch(self) -> WatchLevers:
        """Hop 8."""
        from clusters.emulated.levers.watch import WatchLevers

        return WatchLevers(self._cluster)

    @cached_property
    def replicas(self) -> ReplicaLevers:
        from clusters.emulated.levers.replicas import ReplicaLevers

        return ReplicaLevers(self._cluster)

    @cached_property
    def aggregation(self) -> AggregationLevers:
        from clusters.emulated.levers.aggregation import AggregationLevers

        return AggregationLevers(self._cluster)

    @cached_property
    def controllers(self) -> ComponentLevers:
        """Hop 9."""
        from clusters.emulated.levers.components import ComponentLevers

        return ComponentLevers(self._cluster, "controllers")

    @cached_property
    def scheduler(self) -> ComponentLevers:
        """Hop 10."""
        from clusters.emulated.levers.components import ComponentLevers

        return ComponentLevers(self._cluster, "scheduler")
