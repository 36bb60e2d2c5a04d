"""Hop 11: nodes that run Pods. `kubelet.py` is the node's agent, `machine.py` what it runs on."""

from clusters.emulated.kubelet.kubelet import Kubelet
from clusters.emulated.kubelet.machine import Machine, NodeOptions

__all__ = ["Kubelet", "Machine", "NodeOptions"]
