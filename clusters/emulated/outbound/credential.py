"""Handing a PEM certificate and key to the `ssl` module, which reads them from files only."""

from __future__ import annotations

import os
import ssl
import tempfile
from pathlib import Path


def load_credential(context: ssl.SSLContext, certificate_pem: bytes, key_pem: bytes) -> None:
    """Makes `context` show this certificate. On Linux the key is in an anonymous file, never on a disk."""
    if hasattr(os, "memfd_create"):
        descriptor = os.memfd_create("credential")
        path = f"/proc/self/fd/{descriptor}"
    else:
        descriptor, path = tempfile.mkstemp()
    try:
        os.write(descriptor, certificate_pem + b"\n" + key_pem)
        context.load_cert_chain(path)
    finally:
        os.close(descriptor)
        if not path.startswith("/proc/"):
            Path(path).unlink()
