"""Hop 1: how requests reach the api-server (HTTPS or in-process), and the credentials to do so."""
