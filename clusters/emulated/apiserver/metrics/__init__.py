"""What `/metrics` tells: counted on the way of every request, written out only when somebody asks."""

from clusters.emulated.apiserver.metrics.metrics import Metrics

__all__ = ["Metrics"]
