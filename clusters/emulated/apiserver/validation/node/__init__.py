"""Defaults and rules of the kinds of the API group `node.k8s.io`."""
