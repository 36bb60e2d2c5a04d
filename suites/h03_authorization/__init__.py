"""Hop 3: may you?"""
