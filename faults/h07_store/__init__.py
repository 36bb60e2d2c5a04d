"""Hop 7: the transaction in etcd."""
