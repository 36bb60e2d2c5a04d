"""How the api-server calls others: webhooks, token issuers, aggregated api-servers. Errors read as Go's."""
