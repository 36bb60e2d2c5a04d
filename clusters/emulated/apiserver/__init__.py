"""Hops 1 to 6 and the serving half of 8: the api-server. It sees requests, never sockets."""
