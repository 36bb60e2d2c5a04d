"""Hop 2: the api-server's serving certificate."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from clusters.base import Lever
from clusters.emulated.levers.certificates import serving_credential
from clusters.emulated.levers.pulling import Counted, entered, in_loop
from clusters.lever_protocols import Defect

if TYPE_CHECKING:
    from clusters.emulated.cluster import EmulatedCluster


class TlsLevers:
    def __init__(self, cluster: EmulatedCluster) -> None:
        self._cluster = cluster

    @contextmanager
    def certificate(self, defect: Defect) -> Iterator[Lever]:
        """New connections meet the bad certificate; who is connected already is cut off."""
        plane, run = self._cluster.plane, self._cluster.run
        listeners = self._cluster.listening()
        bad = serving_credential(plane.pki.ca, plane.clock.now_s(), defect)
        tls = bad.server_context((plane.pki.ca.certificate_pem,))
        with entered(run, *(listener.use_certificate(tls) for listener in listeners)):
            in_loop(run, lambda: [listener.cut_connections() for listener in listeners])
            yield Counted(lambda: sum(listener.connections_total for listener in listeners))
