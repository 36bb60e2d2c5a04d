"""Defaults and rules of the kinds of the API group `flowcontrol.apiserver.k8s.io`."""
