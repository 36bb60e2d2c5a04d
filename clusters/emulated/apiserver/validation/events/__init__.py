"""Defaults and rules of the kinds of the API group `events.k8s.io`."""
