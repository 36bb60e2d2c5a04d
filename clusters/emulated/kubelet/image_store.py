"""The images on a node's disk, and who may use them.

An image that was pulled with a Secret's credentials may only be used by Pods that have them too; one that was there
before, or came without credentials, may be used by all (KubeletEnsureSecretPulledImages).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from clusters.emulated.kubelet.image_names import ImageName
from clusters.emulated.kubelet.registry import Credential, PulledImage, image_of


@dataclass(slots=True)
class StoredImage:
    name: ImageName
    image: PulledImage
    #: Was on the disk before any kubelet pulled it: it has no digest of a repository.
    preloaded: bool = False
    #: None: everybody. Else those whose credentials have pulled it.
    readers: set[Credential] | None = None
    uses: int = field(default=0)

    @property
    def ref(self) -> str:
        """What status.imageID shows."""
        return self.image.image_id if self.preloaded else f"{self.name.repository}@{self.image.digest}"

    @property
    def shown(self) -> str:
        """What status.image shows."""
        return self.name.reference


class ImageStore:
    def __init__(self) -> None:
        self._images: dict[str, StoredImage] = {}

    def __iter__(self) -> Iterator[StoredImage]:
        return iter(self._images.values())

    def find(self, name: ImageName) -> StoredImage | None:
        return self._images.get(name.reference)

    def preload(self, name: ImageName) -> StoredImage:
        stored = StoredImage(name, image_of(name), preloaded=True)
        self._images[name.reference] = stored
        return stored

    def pulled(self, name: ImageName, image: PulledImage, credential: Credential | None) -> StoredImage:
        known = self._images.get(name.reference)
        readers = None if known is None or known.image.digest != image.digest else known.readers
        if credential is None or (
            known is not None and known.readers is None and readers is None and known.image == image
        ):
            readers = None
        else:
            readers = {*(readers or ()), credential}
        stored = self._images[name.reference] = StoredImage(name, image, readers=readers)
        return stored

    def may_use(self, stored: StoredImage, credentials: Iterable[Credential]) -> bool:
        return stored.readers is None or any(credential in stored.readers for credential in credentials)

    def remove(self, name: ImageName) -> None:
        self._images.pop(name.reference, None)
