"""The three patches of the API that are not server-side apply: JSON patch, JSON merge patch, strategic merge.

They work on plain JSON values, never change what they are given, and fail with a `PatchError` whose text and
kind are those of the libraries that Kubernetes uses.
"""
