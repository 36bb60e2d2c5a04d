"""Hop 4: built-in plugins that change objects (some of them also judge the final one)."""
