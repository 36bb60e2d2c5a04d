"""Hops 4 and 6: admission. Plugins in Kubernetes' order, webhooks and policies among them."""
