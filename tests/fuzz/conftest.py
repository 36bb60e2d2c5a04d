"""Bad input over a real TLS socket, to one server per module that must stay healthy and never be surprised."""

from __future__ import annotations

import logging
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(0, str(Path(__file__).parent.parent / "properties"))

from wire import Server

from clusters.emulated.cluster import EmulatedCluster


class Complaints(logging.Handler):
    """Keeps what the server logged as an error: a request that failed in a way nobody foresaw."""

    def __init__(self) -> None:
        super().__init__(logging.ERROR)
        self.texts: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.texts.append(self.format(record))


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    complaints = Complaints()
    logger = logging.getLogger("clusters")
    logger.addHandler(complaints)
    try:
        with EmulatedCluster() as cluster:
            yield Server(cluster.kubeconfig, tmp_path_factory.mktemp("credentials"), complaints.texts)
    finally:
        logger.removeHandler(complaints)
