"""What is served: groups, versions and resources, in the old form (one document each) and aggregated."""

from clusters.emulated.apiserver.discovery.discovery import Discovery

__all__ = ["Discovery"]
