"""Where images come from: the contract, and the registry that has everything unless told otherwise.

registry = MemoryRegistry()
registry.private("registry.test/team", "user", "password")      401 without these credentials
with registry.answer(404, "nginx:1.99") as lever: …             this image is not there
with registry.unreachable("docker.io"): …                       nobody listens
with registry.slow(30): …                                       every pull takes so long
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from http import HTTPStatus
from typing import Final, Protocol

from clusters.emulated.clock import Clock
from clusters.emulated.kubelet.faults import Faults
from clusters.emulated.kubelet.image_names import ImageName
from clusters.emulated.store.levers import Lever

#: How long the default registry takes for an image, and how large every image of it is.
PULL_S: Final = 0.5


class PullError(Exception):
    """The image could not be had. The text is containerd's, without the `rpc error` that some codes add."""

    def __init__(self, message: str, grpc_code: str = "Unknown") -> None:
        super().__init__(message)
        self.grpc_code = grpc_code


@dataclass(frozen=True, slots=True)
class Credential:
    username: str
    password: str


@dataclass(frozen=True, slots=True)
class PulledImage:
    """`digest` is the manifest's, `image_id` the configuration's."""

    digest: str
    image_id: str
    size: int


class Registry(Protocol):
    async def pull(self, name: ImageName, credential: Credential | None) -> PulledImage:
        """Raises `PullError`."""
        ...


def pull_failed(reference: str, rest: str, grpc_code: str = "Unknown") -> PullError:
    return PullError(f'failed to pull and unpack image "{reference}": {rest}', grpc_code)


def resolve_failed(reference: str, rest: str, grpc_code: str = "Unknown") -> PullError:
    return pull_failed(reference, f'failed to resolve reference "{reference}": {rest}', grpc_code)


def status_error(name: ImageName, status: int) -> PullError:
    """An HTTP answer to the request for the manifest, as containerd words it."""
    if status == 404:
        return resolve_failed(name.reference, f"{name.reference}: not found", "NotFound")
    target = name.digest or name.tag
    phrase = HTTPStatus(status).phrase if status in HTTPStatus._value2member_map_ else ""
    return resolve_failed(
        name.reference,
        f"pulling from host {registry_host(name.host)} failed with status code [manifests {target}]: "
        f"{status} {phrase}".rstrip(),
    )


def registry_host(host: str) -> str:
    return "registry-1.docker.io" if host == "docker.io" else host


def request_error(name: ImageName, error: str) -> PullError:
    """No answer at all; `error` is what Go's HTTP client says, e.g. `dial tcp …: connect: connection refused`."""
    host = registry_host(name.host)
    scheme = "http" if _is_local(host) else "https"
    url = f"{scheme}://{host}/v2/{name.path}/manifests/{name.digest or name.tag}"
    return resolve_failed(name.reference, f'failed to do request: Head "{url}": {error}')


def _is_local(host: str) -> bool:
    bare = host.rsplit(":", 1)[0] if not host.endswith("]") else host
    return bare in ("localhost", "[::1]") or bare.startswith("127.")


class MemoryRegistry:
    """Every image exists, and its digest follows from its name."""

    def __init__(self, clock: Clock, pull_s: float = PULL_S) -> None:
        self._clock = clock
        self._pull_s = pull_s
        self._private: list[tuple[str, Credential]] = []
        self._faults = Faults()
        self.pulls: list[str] = []

    # What it has

    def private(self, prefix: str, username: str, password: str) -> None:
        """Repositories that begin with this (`host/path`) need these credentials."""
        self._private.append((prefix, Credential(username, password)))

    # Levers

    def answer(self, status: int, image: str = "") -> Lever:
        """Answers with this HTTP status for images whose reference contains `image`."""
        return self._faults.pull("status", status, _contains(image))

    def fail(self, message: str, image: str = "", grpc_code: str = "Unknown") -> Lever:
        """The pull fails with containerd's text after `failed to pull and unpack image "…": `."""
        return self._faults.pull("fail", (message, grpc_code), _contains(image))

    def unreachable(self, image: str = "", error: str = "") -> Lever:
        """Nobody answers: connection refused, or what `error` says."""
        return self._faults.pull("unreachable", error, _contains(image))

    def slow(self, delay_s: float, image: str = "") -> Lever:
        return self._faults.pull("slow", delay_s, _contains(image))

    # Registry

    async def pull(self, name: ImageName, credential: Credential | None) -> PulledImage:
        self.pulls.append(name.reference)
        reference = name.reference
        await self._clock.sleep(self._faults.match("slow", reference) or self._pull_s)
        error = self._faults.match("unreachable", reference)
        if error is not None:
            host = registry_host(name.host)
            raise request_error(name, error or f"dial tcp {host}: connect: connection refused")
        status = self._faults.match("status", reference)
        if status is not None:
            raise status_error(name, status)
        failure = self._faults.match("fail", reference)
        if failure is not None:
            raise pull_failed(reference, *failure)
        for prefix, wanted in self._private:
            if name.repository.startswith(prefix) and credential != wanted:
                raise status_error(name, 401)
        return image_of(name)


def image_of(name: ImageName) -> PulledImage:
    """The same name is the same image everywhere."""
    manifest = name.digest or "sha256:" + hashlib.sha256(f"manifest of {name.reference}".encode()).hexdigest()
    config = hashlib.sha256(f"config of {manifest}".encode())
    size = 1_000_000 + int.from_bytes(config.digest()[:4], "big") % 10**8
    return PulledImage(manifest, f"sha256:{config.hexdigest()}", size)


def _contains(text: str) -> Callable[[str], bool]:
    return lambda reference: text in reference
