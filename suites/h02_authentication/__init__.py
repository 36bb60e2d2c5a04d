"""Hop 2: who are you?"""
