"""Clients of the api-server: what tests, controllers, scheduler and kubelets talk through."""
