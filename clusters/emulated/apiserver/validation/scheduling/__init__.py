"""Defaults and rules of the kinds of the API group `scheduling.k8s.io`."""
