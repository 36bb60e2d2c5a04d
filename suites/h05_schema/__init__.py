"""Hop 5: is it what it says it is?"""
