"""Defaults and rules of the kinds of the API group `admissionregistration.k8s.io`."""
