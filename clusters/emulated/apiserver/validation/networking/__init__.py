"""Defaults and rules of the kinds of the API group `networking.k8s.io`."""
