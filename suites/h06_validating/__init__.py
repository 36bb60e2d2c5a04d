"""Hop 6: who may still refuse it."""
