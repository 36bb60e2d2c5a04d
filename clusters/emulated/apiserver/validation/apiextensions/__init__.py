"""Defaults and rules of the kinds of the API group `apiextensions.k8s.io`."""
