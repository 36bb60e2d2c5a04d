"""Hop 6: built-in plugins that only judge the final object."""
