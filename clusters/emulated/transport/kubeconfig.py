"""Kubeconfig files: one cluster, one user, one context; readable by their owner only.

    text = kubeconfig("https://127.0.0.1:6443", pki.ca.certificate_pem, credential=pki.admin)
    write_kubeconfig(path, text)

Values are written as JSON strings, which are YAML as well: whatever a name or token holds, it stays a value.
"""

from __future__ import annotations

import base64
import json
import os
import secrets
from pathlib import Path

from clusters.emulated.transport.pki import Credential


def kubeconfig(
    server: str,
    ca_pem: bytes | None,
    *,
    credential: Credential | None = None,
    token: str | None = None,
    user: str = "kubernetes-admin",
    cluster: str = "kaput",
    namespace: str | None = None,
    tls_server_name: str | None = None,
    insecure: bool = False,
) -> str:
    """The text of a kubeconfig that speaks to `server` as `user`, by certificate, by token, or anonymously.

    `insecure` leaves the CA out and skips verification; `tls_server_name` verifies another name than the URL's.
    """
    context = f"{user}@{cluster}"
    lines = [
        "apiVersion: v1",
        "kind: Config",
        f"current-context: {_value(context)}",
        "clusters:",
        f"- name: {_value(cluster)}",
        "  cluster:",
        f"    server: {_value(server)}",
    ]
    if insecure:
        lines.append("    insecure-skip-tls-verify: true")
    elif ca_pem is not None:
        lines.append(f"    certificate-authority-data: {_base64(ca_pem)}")
    if tls_server_name is not None:
        lines.append(f"    tls-server-name: {_value(tls_server_name)}")
    lines += ["contexts:", f"- name: {_value(context)}", "  context:", f"    cluster: {_value(cluster)}"]
    if namespace is not None:
        lines.append(f"    namespace: {_value(namespace)}")
    lines += [f"    user: {_value(user)}", "users:", f"- name: {_value(user)}"]
    secrets_of_user = []
    if credential is not None:
        secrets_of_user.append(f"    client-certificate-data: {_base64(credential.certificate_pem)}")
        secrets_of_user.append(f"    client-key-data: {_base64(credential.key_pem)}")
    if token is not None:
        secrets_of_user.append(f"    token: {_value(token)}")
    lines += ["  user:", *secrets_of_user] if secrets_of_user else ["  user: {}"]
    return "\n".join(lines) + "\n"


def write_kubeconfig(path: str | os.PathLike[str], text: str) -> Path:
    """Writes `text` with mode 0600; a reader sees the old file or the whole new one, never a part."""
    target = Path(path)
    target.parent.mkdir(parents=True, exist_ok=True)
    partial = target.with_name(f".{target.name}.{secrets.token_hex(8)}")
    # O_EXCL: neither a file nor a link that somebody put there beforehand is written through.
    descriptor = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(text)
        partial.replace(target)
    except BaseException:
        partial.unlink(missing_ok=True)
        raise
    return target


def _value(text: str) -> str:
    return json.dumps(text)


def _base64(data: bytes) -> str:
    return base64.b64encode(data).decode("ascii")
