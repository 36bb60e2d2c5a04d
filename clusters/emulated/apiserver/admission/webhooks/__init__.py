"""Webhooks: MutatingWebhookConfiguration and ValidatingWebhookConfiguration over real HTTPS."""
