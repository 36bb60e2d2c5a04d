"""Quota: what an object uses, and whether its namespace has that much left."""
