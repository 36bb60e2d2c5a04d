"""Conversion between the versions of one kind: pure functions from object to object."""
