"""API aggregation: APIServices say who answers for a group and version, this api-server or one behind a Service."""
