"""Hop 7: is it written?"""
