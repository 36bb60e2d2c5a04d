"""Hop 11, so far only its outermost layer: nodes that are registered and kept Ready. Nothing runs on them yet."""
