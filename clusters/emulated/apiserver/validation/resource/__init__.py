"""Defaults and rules of the kinds of the API group `resource.k8s.io`."""
