"""Hop 4: what mutating admission does to a request, and what it does when its webhook is gone."""
