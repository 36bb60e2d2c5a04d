"""The only place where time, timers and randomness come from.

Every component is handed a `Clock` and a `Randomness`; nothing else in the tree may call `time`,
`datetime.now`, `random` or `uuid4`.
"""

from clusters.emulated.clock.clock import Clock, RealClock, ScaledClock
from clusters.emulated.clock.randomness import Randomness
from clusters.emulated.clock.virtual import VirtualClock

__all__ = ["Clock", "Randomness", "RealClock", "ScaledClock", "VirtualClock"]
