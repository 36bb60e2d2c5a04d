"""The volumes of a Pod: set up one by one, tried again with growing waits, and what they contain.

A source that is not there is a FailedMount event at 0, 0.5, 1.5, 3.5 … s (doubling, at most 122 s apart). A sync of
the Pod waits for all of them, at most 123 s; then it fails, silently, and waits again.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final

from clusters.emulated.client.api import Api
from clusters.emulated.client.errors import ApiFailure
from clusters.emulated.client.resources import PERSISTENT_VOLUME_CLAIMS, PERSISTENT_VOLUMES, SERVICE_ACCOUNTS
from clusters.emulated.clock import Clock
from clusters.emulated.kubelet.faults import Faults
from clusters.emulated.kubelet.field_values import FieldPathError, field_value, resource_value
from clusters.emulated.kubelet.references import MissingReferenceError, References, UnusableReferenceError
from clusters.emulated.store.levers import Lever

Object = dict[str, Any]

WAIT_S: Final = 123.0
_RETRY_FIRST_S: Final = 0.5
_RETRY_MAX_S: Final = 122.0
_HOST_PATHS: Final = {"Directory": "a directory", "File": "a file", "Socket": "a socket file"} | {
    "CharDevice": "a character device",
    "BlockDevice": "a block device",
}


class VolumesNotReadyError(Exception):
    """The Pod's volumes are not mounted. With `event`, the text is one for a FailedMount event."""

    def __init__(self, message: str, event: bool) -> None:
        super().__init__(message)
        self.event = event


class MountError(Exception):
    """A volume could not be set up; the text is what follows `MountVolume.SetUp failed for volume "v" : `."""


class ClaimError(Exception):
    """A claim cannot be used at all: the Pod's sync fails at once."""


@dataclass(slots=True)
class _PodVolumes:
    mounted: dict[str, dict[str, str]] = field(default_factory=dict)
    tasks: dict[str, asyncio.Task[None]] = field(default_factory=dict)
    changed: asyncio.Event = field(default_factory=asyncio.Event)


@dataclass(frozen=True, slots=True)
class NodeFiles:
    """What there is on the node's own disk, by path; directories end in a slash."""

    paths: set[str] = field(
        default_factory=lambda: {"/", "/tmp/", "/var/", "/var/log/", "/etc/", "/run/", "/proc/", "/sys/"}
    )

    def is_directory(self, path: str) -> bool:
        wanted = path.rstrip("/") + "/"
        return any(each.startswith(wanted) for each in self.paths)

    def is_file(self, path: str) -> bool:
        return path.rstrip("/") in self.paths


class Volumes:
    def __init__(
        self,
        api: Api,
        clock: Clock,
        references: References,
        node: Callable[[], tuple[str, Object]],
        event: Callable[[Object, str, str, str], None],
        disk: NodeFiles,
        csi_drivers: set[str],
    ) -> None:
        """`node()` is the node's address and its allocatable resources; `event(pod, type, reason, message)`."""
        self._api = api
        self._clock = clock
        self._references = references
        self._node = node
        self._event = event
        self._disk = disk
        self._csi_drivers = csi_drivers
        self._pods: dict[str, _PodVolumes] = {}
        self._faults = Faults()

    def fail_mount(self, message: str, volume: str = "") -> Lever:
        """Volumes whose name contains `volume` cannot be set up."""
        return self._faults.pull("mount", message, lambda name: volume in name)

    async def wait_mounted(self, pod: Object) -> None:
        """Raises `VolumesNotReadyError`."""
        wanted = _wanted(pod)
        if not wanted:
            return
        record = self._pods.setdefault(pod["metadata"]["uid"], _PodVolumes())
        for volume in wanted:
            await self._begin(pod, record, volume)
        if all(volume["name"] in record.mounted for volume in wanted):
            return
        late = self._clock.call_later(WAIT_S, record.changed.set)
        deadline_s = self._clock.monotonic_s() + WAIT_S
        try:
            while not all(volume["name"] in record.mounted for volume in wanted):
                if self._clock.monotonic_s() >= deadline_s - 1e-6:
                    raise VolumesNotReadyError(_unmounted(wanted, record, "context deadline exceeded"), event=False)
                record.changed.clear()
                await record.changed.wait()
        finally:
            late.cancel()

    def files(self, pod: Object, container: Object) -> dict[str, str]:
        """What a container finds below its mount paths."""
        record = self._pods.get(pod["metadata"]["uid"])
        found: dict[str, str] = {}
        for mount in container.get("volumeMounts") or ():
            path = mount["mountPath"].rstrip("/")
            found[path + "/"] = ""
            contents = {} if record is None else record.mounted.get(mount["name"], {})
            sub_path = mount.get("subPath", "")
            for name, text in contents.items():
                if sub_path:
                    if name == sub_path:
                        found.pop(path + "/", None)
                        found[path] = text
                else:
                    found[f"{path}/{name}"] = text
        return found

    def unmount(self, uid: str) -> None:
        record = self._pods.pop(uid, None)
        if record is not None:
            for task in record.tasks.values():
                task.cancel()

    # One volume

    async def _begin(self, pod: Object, record: _PodVolumes, volume: Object) -> None:
        name = volume["name"]
        if name in record.mounted or name in record.tasks:
            return
        try:
            record.mounted[name] = await self._set_up(pod, volume)
        except ClaimError as error:
            raise VolumesNotReadyError(_unmounted([volume], record, str(error), [name]), event=True) from error
        except MountError as error:
            self._failed(pod, name, error)
            record.tasks[name] = asyncio.get_running_loop().create_task(
                self._retry(pod, record, volume), name=f"mount {name}"
            )

    async def _retry(self, pod: Object, record: _PodVolumes, volume: Object) -> None:
        delay_s = _RETRY_FIRST_S
        name = volume["name"]
        while True:
            await self._clock.sleep(delay_s)
            try:
                record.mounted[name] = await self._set_up(pod, volume)
                break
            except (MountError, ClaimError) as error:
                self._failed(pod, name, error)
                delay_s = min(delay_s * 2, _RETRY_MAX_S)
        del record.tasks[name]
        record.changed.set()

    def _failed(self, pod: Object, name: str, error: Exception) -> None:
        self._event(pod, "Warning", "FailedMount", f'MountVolume.SetUp failed for volume "{name}" : {error}')

    async def _set_up(self, pod: Object, volume: Object) -> dict[str, str]:
        message = self._faults.match("mount", volume["name"])
        if message is not None:
            raise MountError(message)
        namespace = pod["metadata"]["namespace"]
        try:
            if "configMap" in volume:
                return await self._config_map(namespace, volume["configMap"])
            if "secret" in volume:
                source = {**volume["secret"], "name": volume["secret"].get("secretName", "")}
                return await self._secret(namespace, source)
            if "projected" in volume:
                return await self._projected(pod, volume["projected"])
            if "downwardAPI" in volume:
                return self._downward(pod, volume["downwardAPI"])
        except (UnusableReferenceError, FieldPathError) as error:
            raise MountError(str(error)) from error
        if "hostPath" in volume:
            self._check_host_path(volume["hostPath"])
        elif "csi" in volume and volume["csi"]["driver"] not in self._csi_drivers:
            raise MountError(
                "kubernetes.io/csi: mounter.SetUpAt failed to get CSI client: driver name "
                f"{volume['csi']['driver']} not found in the list of registered CSI drivers"
            )
        elif "persistentVolumeClaim" in volume:
            await self._claim(namespace, volume["persistentVolumeClaim"]["claimName"])
        elif "ephemeral" in volume:
            await self._claim(namespace, f"{pod['metadata']['name']}-{volume['name']}")
        return {}

    # Sources

    async def _config_map(self, namespace: str, source: Object) -> dict[str, str]:
        optional = bool(source.get("optional"))
        try:
            data = await self._references.config_map(namespace, source["name"])
        except MissingReferenceError:
            if optional:
                return {}
            raise
        return _items(data, source.get("items"), optional, "configmap references non-existent config key: ")

    async def _secret(self, namespace: str, source: Object) -> dict[str, str]:
        optional = bool(source.get("optional"))
        try:
            data = (await self._references.secret(namespace, source["name"]))["data"]
        except MissingReferenceError:
            if optional:
                return {}
            raise
        return _items(data, source.get("items"), optional, "references non-existent secret key: ")

    async def _projected(self, pod: Object, projected: Object) -> dict[str, str]:
        found: dict[str, str] = {}
        problems: list[str] = []
        namespace = pod["metadata"]["namespace"]
        for source in projected.get("sources") or ():
            try:
                if "configMap" in source:
                    found |= await self._config_map(namespace, source["configMap"])
                elif "secret" in source:
                    found |= await self._secret(namespace, source["secret"])
                elif "downwardAPI" in source:
                    found |= self._downward(pod, source["downwardAPI"])
                elif "serviceAccountToken" in source:
                    found[source["serviceAccountToken"]["path"]] = await self._token(pod, source["serviceAccountToken"])
            except (UnusableReferenceError, FieldPathError, MountError) as error:
                problems.append(str(error))
        if problems:
            raise MountError(problems[0] if len(problems) == 1 else f"[{', '.join(problems)}]")
        return found

    async def _token(self, pod: Object, source: Object) -> str:
        metadata = pod["metadata"]
        request = {
            "apiVersion": "authentication.k8s.io/v1",
            "kind": "TokenRequest",
            "spec": {
                "audiences": [source["audience"]] if source.get("audience") else [],
                "expirationSeconds": source.get("expirationSeconds", 3600),
                "boundObjectRef": {
                    "apiVersion": "v1", "kind": "Pod", "name": metadata["name"], "uid": metadata["uid"],
                },
            },
        }  # fmt: skip
        account = pod["spec"].get("serviceAccountName") or "default"
        try:
            answer = await self._api.create(
                SERVICE_ACCOUNTS, request, metadata["namespace"], name=account, subresource="token"
            )
        except ApiFailure as failed:
            raise MountError(f"failed to fetch token: {failed.message}") from failed
        return str(answer["status"]["token"])

    def _downward(self, pod: Object, source: Object) -> dict[str, str]:
        host_ip, allocatable = self._node()
        found = {}
        for item in source.get("items") or ():
            if "fieldRef" in item:
                found[item["path"]] = field_value(pod, item["fieldRef"]["fieldPath"], (), host_ip)
            elif "resourceFieldRef" in item:
                found[item["path"]] = resource_value(pod, "", item["resourceFieldRef"], allocatable)
        return found

    def _check_host_path(self, source: Object) -> None:
        path, kind = source["path"], source.get("type") or ""
        if kind == "DirectoryOrCreate":
            self._disk.paths.add(path.rstrip("/") + "/")
        elif kind == "FileOrCreate":
            self._disk.paths.add(path.rstrip("/"))
        elif kind in _HOST_PATHS:
            there = self._disk.is_directory(path) if kind == "Directory" else self._disk.is_file(path)
            if not there:
                raise MountError(f"hostPath type check failed: {path} is not {_HOST_PATHS[kind]}")

    async def _claim(self, namespace: str, name: str) -> None:
        try:
            claim = await self._api.get(PERSISTENT_VOLUME_CLAIMS, name, namespace)
        except ApiFailure as failed:
            raise ClaimError(
                f"error processing PVC {namespace}/{name}: failed to fetch PVC from API server: {failed.message}"
            ) from failed
        volume = claim["spec"].get("volumeName")
        if (claim.get("status") or {}).get("phase") != "Bound" or not volume:
            raise ClaimError(f"error processing PVC {namespace}/{name}: PVC is not bound")
        try:
            await self._api.get(PERSISTENT_VOLUMES, volume)
        except ApiFailure as failed:
            raise ClaimError(
                f"error processing PVC {namespace}/{name}: failed to fetch PV {volume} from API server: {failed.message}"  # noqa: E501
            ) from failed


def _items(data: dict[str, str], items: list[Object] | None, optional: bool, missing: str) -> dict[str, str]:
    if not items:
        return data
    found = {}
    for item in items:
        if item["key"] in data:
            found[item["path"]] = data[item["key"]]
        elif not optional:
            raise MountError(missing + item["key"])
    return found


def _wanted(pod: Object) -> list[Object]:
    used = {
        mount["name"]
        for kind in ("containers", "initContainers", "ephemeralContainers")
        for container in pod["spec"].get(kind) or ()
        for mount in (*(container.get("volumeMounts") or ()), *(container.get("volumeDevices") or ()))
    }
    return [volume for volume in pod["spec"].get("volumes") or () if volume["name"] in used]


def _unmounted(wanted: list[Object], record: _PodVolumes, error: str, unprocessed: list[str] | None = None) -> str:
    names = [volume["name"] for volume in wanted if volume["name"] not in record.mounted]
    return (
        f"unmounted volumes=[{' '.join(sorted(names))}], unattached volumes=[], "
        f"failed to process volumes=[{' '.join(unprocessed or ())}]: {error}"
    )
