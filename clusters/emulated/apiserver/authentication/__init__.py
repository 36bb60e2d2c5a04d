"""Hop 2: who asks? The authenticators, in Kubernetes' order, and how tokens are made and checked.

What the user may do is not decided here (`authorization`), except for impersonation, which replaces the user.
"""
