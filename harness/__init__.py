"""The pytest plugin and the command line: clusters, fixtures, options."""
