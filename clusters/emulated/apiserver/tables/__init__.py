"""Tables: the columns `kubectl get` shows, computed here because only the server knows what matters of a kind."""

from clusters.emulated.apiserver.tables.table import table

__all__ = ["table"]
