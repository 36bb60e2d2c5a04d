"""A proxy that misbehaves on purpose: Toxiproxy's HTTP API and toxics, on loopback, in any event loop.

    server = ProxyServer()
    await server.start()                              # the API, at server.port
    toxiproxy = ToxiproxyClient("127.0.0.1", server.port)     # from another thread, by toxiproxy-python
    web = toxiproxy.create("web", upstream="127.0.0.1:8443")
    toxiproxy.add_toxic("web", "latency", latency=1000)

Whatever speaks to a toxiproxy-server speaks to this one, and `ToxiproxyClient` to either.
"""

from clusters.proxy.client import ToxiproxyClient, ToxiproxyError
from clusters.proxy.server import ProxyServer

__all__ = ["ProxyServer", "ToxiproxyClient", "ToxiproxyError"]
