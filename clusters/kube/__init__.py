"""Kubernetes' own rules, written once and shared by all backends.

Nothing in here does I/O, keeps time or knows which backend runs; objects are plain dicts.
"""
