"""Defaults and rules of the kinds of the API group `policy`."""
