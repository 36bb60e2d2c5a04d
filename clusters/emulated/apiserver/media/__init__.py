"""Bytes to objects and back: content negotiation, reading request bodies, writing answers."""
