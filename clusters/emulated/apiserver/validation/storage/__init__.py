"""Defaults and rules of the kinds of the API group `storage.k8s.io`."""
