"""Defaults and rules of the kinds of the API group `apiregistration.k8s.io`."""
