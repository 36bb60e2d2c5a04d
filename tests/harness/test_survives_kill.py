"""With --data-dir: killed under load over HTTPS, started again, and every acknowledged write is there."""

from __future__ import annotations

import http.client
import signal
import threading
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from up_process import Client, Up, up

LIVES = 3
WRITERS = 4
ACKNOWLEDGED_PER_LIFE = 150
CONFIG_MAPS = "/api/v1/namespaces/default/configmaps"


@dataclass
class Writer:
    """Counts up in a ConfigMap of its own; knows what it sent and what was acknowledged."""

    name: str
    sent: int = 0
    acknowledged: int = 0
    uid: str = ""
    refused: list[str] = field(default_factory=list)

    def write_until_killed(self, config: dict[str, Any], directory: Path, acknowledged: threading.Semaphore) -> None:
        client = Client(config, directory)
        try:
            while not self.refused:
                self._write_next(client)
                acknowledged.release()
        except (OSError, http.client.HTTPException):
            return  # The server is gone: what was in flight may or may not have happened.
        finally:
            client.close()

    def _write_next(self, client: Client) -> None:
        number = self.sent = self.sent + 1
        body: dict[str, Any] = {"metadata": {"name": self.name}, "data": {"n": str(number)}}
        if self.uid:
            status, answer = client.request("PUT", f"{CONFIG_MAPS}/{self.name}", body)
        else:
            status, answer = client.request("POST", CONFIG_MAPS, body)
            if status == 409:  # The create before the kill had happened, unacknowledged.
                _, answer = client.request("GET", f"{CONFIG_MAPS}/{self.name}")
                self.uid = answer["metadata"]["uid"]
                return
        if status not in (200, 201):
            self.refused.append(f"{status} {answer}")
            return
        self.uid = answer["metadata"]["uid"]
        self.acknowledged = number


def load_and_kill(running: Up, writers: list[Writer], directory: Path) -> None:
    acknowledged = threading.Semaphore(0)
    threads = []
    for writer in writers:
        folder = directory / writer.name
        folder.mkdir(exist_ok=True)
        arguments = (running.config, folder, acknowledged)
        threads.append(threading.Thread(target=writer.write_until_killed, args=arguments))
    for thread in threads:
        thread.start()
    for _ in range(ACKNOWLEDGED_PER_LIFE):
        assert acknowledged.acquire(timeout=30), [writer.refused for writer in writers]
    running.process.send_signal(signal.SIGKILL)
    running.process.wait(timeout=30)
    for thread in threads:
        thread.join(timeout=30)
        assert not thread.is_alive()


def test_acknowledged_writes_port_certificates_and_tokens_survive_kill_9(tmp_path: Path) -> None:
    state = tmp_path / "state"
    writers = [Writer(f"writer-{number}") for number in range(WRITERS)]
    with up("--data-dir", str(state)) as running:
        first = running.config
        token = service_account_token(Client(first, tmp_path))
        load_and_kill(running, writers, tmp_path)
    for _ in range(LIVES - 1):
        with up("--data-dir", str(state)) as running:
            assert running.config == first, "the kubeconfig from before the kill is still the right one"
            check(Client(first, tmp_path), writers)
            load_and_kill(running, writers, tmp_path)
    with up("--data-dir", str(state)) as running:
        check(Client(first, tmp_path), writers)
        status, answer = Client(first, tmp_path, token=token).request("GET", CONFIG_MAPS)
        assert status == 403, f"the token is known, its account may not list: {answer}"
        assert running.end()[0] == 0


def check(client: Client, writers: list[Writer]) -> None:
    for writer in writers:
        assert not writer.refused
        status, stored = client.request("GET", f"{CONFIG_MAPS}/{writer.name}")
        if not writer.acknowledged and status == 404:
            continue
        assert status == 200, f"{writer.name} was acknowledged and is lost"
        assert writer.acknowledged <= int(stored["data"]["n"]) <= writer.sent
        assert writer.uid in ("", stored["metadata"]["uid"])


def service_account_token(client: Client) -> str:
    accounts = "/api/v1/namespaces/default/serviceaccounts"
    assert client.request("POST", accounts, {"metadata": {"name": "robot"}})[0] == 201
    status, issued = client.request("POST", f"{accounts}/robot/token", {"spec": {"expirationSeconds": 3600}})
    assert status == 201, issued
    token: str = issued["status"]["token"]
    return token
