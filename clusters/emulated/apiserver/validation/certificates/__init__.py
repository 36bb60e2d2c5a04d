"""Defaults and rules of the kinds of the API group `certificates.k8s.io`."""
