"""Defaults and rules of the kinds of the API group `rbac.authorization.k8s.io`."""
