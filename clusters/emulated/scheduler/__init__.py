"""The kube-scheduler with its default profile: from a Pod without a node to a Binding.

Decisions are made by `plugins` (small pure rules with the words a user reads), run by `framework` over the
`cache`. What a Pod waits for is in `queue`. Nothing in here talks to anything but an `Api`.
"""

from clusters.emulated.scheduler.scheduler import Scheduler

__all__ = ["Scheduler"]
