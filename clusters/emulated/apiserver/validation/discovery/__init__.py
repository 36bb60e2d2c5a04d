"""Defaults and rules of the kinds of the API group `discovery.k8s.io`."""
