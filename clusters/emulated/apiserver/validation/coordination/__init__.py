"""Defaults and rules of the kinds of the API group `coordination.k8s.io`."""
