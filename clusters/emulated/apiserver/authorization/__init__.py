"""Hop 3: may this user do this? A chain of authorizers that allow, deny, or have no opinion.

What a request *contains* is not judged here (that is admission), only who asks for what.
"""
