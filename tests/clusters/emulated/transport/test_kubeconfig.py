"""Kubeconfig files: what kubectl reads from them, and who may read them."""

from __future__ import annotations

import base64
import stat
from pathlib import Path

import yaml

from clusters.emulated.transport.kubeconfig import kubeconfig, write_kubeconfig
from clusters.emulated.transport.pki import Credential

CREDENTIAL = Credential(b"certificate", b"key")


def test_a_client_certificate_is_embedded() -> None:
    config = yaml.safe_load(kubeconfig("https://127.0.0.1:6443", b"ca", credential=CREDENTIAL))
    assert config["kind"] == "Config"
    assert config["clusters"][0]["cluster"] == {
        "server": "https://127.0.0.1:6443",
        "certificate-authority-data": base64.b64encode(b"ca").decode(),
    }
    assert config["users"][0]["user"] == {
        "client-certificate-data": base64.b64encode(b"certificate").decode(),
        "client-key-data": base64.b64encode(b"key").decode(),
    }
    [context] = config["contexts"]
    assert context["name"] == config["current-context"] == "kubernetes-admin@kaput"
    assert context["context"] == {"cluster": "kaput", "user": "kubernetes-admin"}


def test_variants() -> None:
    text = kubeconfig("https://h", b"ca", token='t: "x"\n', user="alice", namespace="s1", tls_server_name="n")
    config = yaml.safe_load(text)
    assert config["users"] == [{"name": "alice", "user": {"token": 't: "x"\n'}}]
    assert config["contexts"][0]["context"]["namespace"] == "s1"
    assert config["clusters"][0]["cluster"]["tls-server-name"] == "n"

    insecure = yaml.safe_load(kubeconfig("https://h", b"ca", insecure=True))
    assert insecure["clusters"][0]["cluster"] == {"server": "https://h", "insecure-skip-tls-verify": True}
    assert insecure["users"][0]["user"] == {}


def test_the_file_is_private_and_replaced_as_a_whole(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "config"
    write_kubeconfig(path, "one")
    assert write_kubeconfig(path, "two") == path
    assert path.read_text() == "two"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert [entry.name for entry in path.parent.iterdir()] == ["config"]


def test_a_link_in_the_way_is_replaced_not_followed(tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.write_text("precious")
    (tmp_path / "config").symlink_to(victim)
    write_kubeconfig(tmp_path / "config", "text")
    assert victim.read_text() == "precious"
