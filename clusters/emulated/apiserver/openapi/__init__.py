"""The OpenAPI documents: what kubectl validates, explains and merges by. Built when first asked for."""

from clusters.emulated.apiserver.openapi.openapi import OpenApi

__all__ = ["OpenApi"]
