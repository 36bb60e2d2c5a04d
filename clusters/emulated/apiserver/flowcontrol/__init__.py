"""API Priority and Fairness: every request belongs to a flow of a priority level, which has so many seats."""

from clusters.emulated.apiserver.flowcontrol.flow_control import FlowControl

__all__ = ["FlowControl"]
