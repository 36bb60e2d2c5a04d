"""Hop 8: who hears of it, and from when on."""
