"""Hop 11: nodes that run Pods. `kubelet.py` is the node's agent, `machine.py` what it runs on."""

from clusters.emulated.kubelet.kubelet import Kubelet
from clusters.emulated.kubelet.machine import Machine, NodeOptions
from clusters.emulated.kubelet.nodes import Nodes, node_names

__all__ = ["Kubelet", "Machine", "NodeOptions", "Nodes", "node_names"]
