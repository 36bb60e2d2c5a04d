"""Hop 5: defaulting and semantic validation of the built-in kinds, one module per kind or small family."""
