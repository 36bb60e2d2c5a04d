"""A histogram: how many observations fell below each bound."""

from __future__ import annotations

from bisect import bisect_left

DURATIONS_S = (
    0.005, 0.025, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1, 1.25, 1.5, 2, 3, 4, 5, 6, 8, 10, 15, 20, 30, 45, 60,
)  # fmt: skip
SLI_DURATIONS_S = DURATIONS_S[2:]
ADMISSION_S = (0.005, 0.025, 0.1, 0.5, 1, 2.5, 10, 25)
WAITS_S = (0, 0.005, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30)
SIZES_BYTES = tuple(10.0**power for power in range(3, 10))


class Histogram:
    """
    >>> latency = Histogram((0.1, 1))
    >>> latency.observe(0.05), latency.observe(5)
    (None, None)
    >>> latency.counts, latency.sum
    ([1, 0, 1], 5.05)
    """

    __slots__ = ("bounds", "counts", "sum")

    def __init__(self, bounds: tuple[float, ...]) -> None:
        self.bounds = bounds
        self.counts = [0] * (len(bounds) + 1)
        self.sum = 0.0

    def observe(self, value: float) -> None:
        self.counts[bisect_left(self.bounds, value)] += 1
        self.sum += value

    def above(self, dropped: int) -> Histogram:
        """The same observations without the first `dropped` bounds."""
        other = Histogram(self.bounds[dropped:])
        other.counts = [sum(self.counts[: dropped + 1]), *self.counts[dropped + 1 :]]
        other.sum = self.sum
        return other
