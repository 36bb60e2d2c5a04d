"""Having a container's image: pull policies, credentials, serial pulls, back-off, and the events that tell of it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Any

from clusters.emulated.clock import Clock
from clusters.emulated.kubelet.back_off import BackOff, duration
from clusters.emulated.kubelet.faults import Faults
from clusters.emulated.kubelet.image_names import ImageName, InvalidImageNameError, parse
from clusters.emulated.kubelet.image_store import ImageStore, StoredImage
from clusters.emulated.kubelet.pull_secrets import credentials_for
from clusters.emulated.kubelet.registry import Credential, PullError, Registry
from clusters.emulated.store.levers import Lever
from clusters.kube.gostring import quote

Object = dict[str, Any]
#: (type, reason, message), about the container.
Event = Callable[[str, str, str], None]


class ImageError(Exception):
    """There is no image to run. `reason` is what the container waits for, e.g. ImagePullBackOff."""

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(message)
        self.reason = reason
        self.message = message


class ImagePulls:
    def __init__(self, clock: Clock, images: ImageStore, registry: Registry) -> None:
        self._clock = clock
        self._images = images
        self._registry = registry
        self._back_off = BackOff(clock)
        self._last_errors: dict[str, str] = {}
        self._turn = asyncio.Lock()
        self._faults = Faults()

    # Levers

    def fail_pull(self, message: str, image: str = "", grpc_code: str = "Unknown") -> Lever:
        """Pulls of images whose name contains `image` fail with this text, whatever the registry says."""
        return self._faults.pull("pull", (message, grpc_code), lambda reference: image in reference)

    def slow_pull(self, delay_s: float, image: str = "") -> Lever:
        return self._faults.pull("slow", delay_s, lambda reference: image in reference)

    async def ensure(self, pod: Object, container: Object, secrets: Sequence[Object], event: Event) -> StoredImage:
        """Raises `ImageError`."""
        image, policy = container.get("image", ""), container.get("imagePullPolicy") or "IfNotPresent"
        try:
            name = parse(image)
        except InvalidImageNameError as error:
            message = (
                f"Failed to apply default image tag {quote(image)}: couldn't parse image name {quote(image)}: {error}"
            )
            event("Warning", "InspectFailed", message)
            raise ImageError("InvalidImageName", message) from error
        credentials = credentials_for(name.repository, secrets)
        present = None if policy == "Always" else self._images.find(name)
        if present is not None and self._images.may_use(present, credentials):
            message = f"Container image {quote(image)} already present on machine and can be accessed by the pod"
            event("Normal", "Pulled", message)
            return present
        if policy == "Never":
            message = f"Container image {quote(image)} is not present with pull policy of Never"
            event("Warning", "ErrImageNeverPull", message)
            raise ImageError("ErrImageNeverPull", message)
        return await self._pull(pod, image, name, credentials, event)

    async def _pull(
        self, pod: Object, image: str, name: ImageName, credentials: list[Credential], event: Event
    ) -> StoredImage:
        key = f"{pod['metadata']['uid']}_{image}"
        if self._back_off.is_in_back_off_since_update(key, self._clock.now_s()):
            message = f"Back-off pulling image {quote(image)}"
            event("Normal", "BackOff", message)
            last = self._last_errors.get(key)
            raise ImageError("ImagePullBackOff", f"{message}: {last}" if last else message)
        event("Normal", "Pulling", f"Pulling image {quote(image)}")
        began_s = self._clock.monotonic_s()
        try:
            async with self._turn:
                own_s = self._clock.monotonic_s()
                stored = await self._try_each(name, credentials)
        except PullError as error:
            text = _text(error)
            event("Warning", "Failed", f"Failed to pull image {quote(image)}: {text}")
            self._back_off.next(key, self._clock.now_s())
            self._last_errors[key] = f"ErrImagePull: {text}"
            raise ImageError("ErrImagePull", text) from error
        self._last_errors.pop(key, None)
        now_s = self._clock.monotonic_s()
        event(
            "Normal",
            "Pulled",
            f"Successfully pulled image {quote(image)} in {_rounded(now_s - own_s)} "
            f"({_rounded(now_s - began_s)} including waiting). Image size: {stored.image.size} bytes.",
        )
        return stored

    async def _try_each(self, name: ImageName, credentials: list[Credential]) -> StoredImage:
        delay_s = self._faults.match("slow", name.reference)
        if delay_s:
            await self._clock.sleep(delay_s)
        fault = self._faults.match("pull", name.reference)
        if fault is not None:
            raise PullError(*fault)
        errors: list[PullError] = []
        for credential in credentials or [None]:  # type: ignore[list-item]
            try:
                return self._images.pulled(name, await self._registry.pull(name, credential), credential)
            except PullError as error:
                errors.append(error)
        if len({str(error) for error in errors}) == 1:
            raise errors[0]
        raise PullError("[" + ", ".join(dict.fromkeys(_text(error) for error in errors)) + "]")

    def forget(self, uid: str) -> None:
        self._back_off.forget(uid + "_")
        for key in [key for key in self._last_errors if key.startswith(uid + "_")]:
            del self._last_errors[key]


def _text(error: PullError) -> str:
    """gRPC's prefix shows for every code but Unknown."""
    return str(error) if error.grpc_code == "Unknown" else f"rpc error: code = {error.grpc_code} desc = {error}"


def _rounded(seconds: float) -> str:
    return duration(int(seconds * 1000 + 1e-6) / 1000)
