"""GET of one object and LIST of many, as objects, Tables or metadata only."""

from __future__ import annotations

from typing import Any

import orjson

from clusters.emulated.apiserver import respond
from clusters.emulated.apiserver.http import HttpResponse
from clusters.emulated.apiserver.media.body import internal_package
from clusters.emulated.apiserver.media.negotiation import MediaType
from clusters.emulated.apiserver.options import ListOptions, first
from clusters.emulated.apiserver.registry.served import Served
from clusters.emulated.apiserver.registry.storage import Page
from clusters.emulated.apiserver.registry.stored import Stored
from clusters.emulated.apiserver.request import Request
from clusters.emulated.apiserver.selection import Selection
from clusters.emulated.apiserver.services import Services
from clusters.emulated.apiserver.tables import table
from clusters.emulated.apiserver.verbs.write import store_failure
from clusters.emulated.store import errors as store_errors
from clusters.kube import errors

Object = dict[str, Any]


async def get(request: Request, served: Served, services: Services, media: MediaType) -> HttpResponse:
    storage = services.storage(served)
    info = request.info
    key = storage.key(info.namespace if served.resource.namespaced else "", info.name)
    try:
        stored = await storage.get(key, first(request.query, "resourceVersion"))
    except store_errors.StoreError as error:
        raise store_failure(error) from error
    if stored is None:
        raise errors.not_found(info.group_resource, info.name)
    if served.conversion is not None:
        stored = (await served.conversion.for_reading([stored]))[0]
    return one(request, served, services, stored, 200, media)


def one(
    request: Request, served: Served, services: Services, stored: Stored, status: int, media: MediaType
) -> HttpResponse:
    """One object in the form asked for."""
    if not media.as_kind:
        if media.protobuf:
            from clusters.emulated.apiserver.media import protobuf_answer  # Only protobuf clients pay for it.

            return respond.protobuf_body(request, status, protobuf_answer.body(served, stored))
        return respond.json_body(request, status, served.body(stored), media)
    if media.as_kind == "Table":
        metadata = {"resourceVersion": str(stored.revision)}
        shown = table(served, [stored], metadata, request.query, services.clock, media.as_version)
        return respond.obj(request, status, shown, media)
    if media.as_kind == "PartialObjectMetadata":
        return respond.obj(request, status, partial(stored.object, media.as_version), media)
    raise _cannot_convert(media, served, "not a list")


def partial(obj: Object, version: str) -> Object:
    return {
        "kind": "PartialObjectMetadata",
        "apiVersion": f"meta.k8s.io/{version}",
        "metadata": obj["metadata"],
    }


async def list_(
    request: Request, served: Served, services: Services, options: ListOptions, media: MediaType
) -> HttpResponse:
    selection = Selection.of(served, options)
    storage = services.storage(served)
    prefix = storage.prefix + (f"{request.info.namespace}/" if request.info.namespace else "")
    try:
        page = await storage.list(prefix, options, selection.matches)
    except store_errors.StoreError as error:
        raise store_failure(error) from error
    if served.conversion is not None:
        page.items = await served.conversion.for_reading(page.items)
    return many(request, served, services, page, media)


def many(request: Request, served: Served, services: Services, page: Page, media: MediaType) -> HttpResponse:
    metadata: Object = {"resourceVersion": str(page.revision)}
    if page.continue_token:
        metadata["continue"] = page.continue_token
    if page.remaining is not None:
        metadata["remainingItemCount"] = page.remaining
    if not media.as_kind:
        return listed(request, served, page.items, metadata, media)
    if media.as_kind == "Table":
        shown = table(served, page.items, metadata, request.query, services.clock, media.as_version)
        return respond.obj(request, 200, shown, media)
    if media.as_kind == "PartialObjectMetadataList":
        items = [partial(each.object, media.as_version) for each in page.items]
        shown = {
            "kind": "PartialObjectMetadataList",
            "apiVersion": f"meta.k8s.io/{media.as_version}",
            "metadata": metadata,
            "items": items or None,
        }
        return respond.obj(request, 200, shown, media)
    raise _cannot_convert(media, served, "a list")


def listed(request: Request, served: Served, items: list[Stored], metadata: Object, media: MediaType) -> HttpResponse:
    """Whole objects as a list, in JSON, YAML or protobuf."""
    if media.protobuf and served.struct is not None:
        from clusters.emulated.apiserver.media import protobuf_answer  # Only protobuf clients pay for it.

        return respond.protobuf_body(request, 200, protobuf_answer.list_body(served, items, metadata))
    return respond.json_body(request, 200, list_body(served, items, metadata), media)


def list_body(served: Served, items: list[Stored], metadata: Object) -> bytes:
    """The list's JSON, joined from the items' own, which are encoded once per object and not per list."""
    resource = served.resource
    item = served.item
    if served.struct is not None:
        head = {"kind": resource.list_kind, "apiVersion": resource.group_version, "metadata": metadata}
        return b"".join((orjson.dumps(head)[:-1], b',"items":[', b",".join([item(each) for each in items]), b"]}"))
    # Custom resources are written by Go as maps: keys in alphabetical order.
    head_bytes = orjson.dumps({"apiVersion": resource.group_version})[:-1]
    shown = {"continue": "", **metadata}
    tail = orjson.dumps({"kind": resource.list_kind, "metadata": shown}, option=orjson.OPT_SORT_KEYS)[1:]
    return b"".join((head_bytes, b',"items":[', b",".join([item(each) for each in items]), b"],", tail))


def _cannot_convert(media: MediaType, served: Served, what: str) -> errors.StatusError:
    """The client asks for the metadata of one object where there is a list, or the other way round."""
    resource = served.resource
    kind = resource.list_kind if what == "a list" else resource.kind
    go_type = f"{internal_package(resource.group)}.{kind}"
    if served.struct is None:
        go_type = f"unstructured.Unstructured{'List' if what == 'a list' else ''}"
    return errors.StatusError(
        406, "NotAcceptable", f"you requested {media.as_kind}, but the requested object is {what} (*{go_type})"
    )
