"""Asking a conversion webhook: ConversionReview out and in, and what its answer must keep."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Awaitable, Callable, Sequence
from typing import Any
from urllib.parse import urlsplit

import orjson

from clusters.emulated.apiserver.validation.metadata import validate_annotations
from clusters.emulated.clock import Randomness
from clusters.emulated.outbound.client import OutboundClient, Trust
from clusters.emulated.outbound.dial import Address, Resolve
from clusters.emulated.outbound.errors import OutboundError
from clusters.kube import errors
from clusters.kube.field import aggregate
from clusters.kube.gostring import quote
from clusters.kube.selectors import validate_labels

Object = dict[str, Any]
ResolveService = Callable[[str, str, int], Awaitable[Address]]

#: Conversion has no timeout of its own: the request that needs it has one.
TIMEOUT_S = 30.0


class _BadObject(Exception):
    """A converted object that cannot be taken; the text says why."""


class ConversionWebhook:
    """The webhook of one definition."""

    def __init__(
        self, crd: Object, outbound: OutboundClient, resolve_service: ResolveService, randomness: Randomness
    ) -> None:
        webhook = crd["spec"]["conversion"]["webhook"]
        self._outbound = outbound
        self._randomness = randomness
        self._resolve_service = resolve_service
        self._review_versions: Sequence[str] = webhook.get("conversionReviewVersions") or ()
        config = webhook.get("clientConfig") or {}
        self._service: Object | None = config.get("service")
        self._url = config.get("url") or self._service_url()
        server_name = urlsplit(self._url).hostname or "" if self._service is not None else ""
        self._trust = Trust(ca_pem=_bundle(config.get("caBundle")), server_name=server_name)

    def _service_url(self) -> str:
        service = self._service or {}
        path = service.get("path") or "/"
        port = service.get("port") or 443
        host = f"{service.get('name', '')}.{service.get('namespace', '')}.svc"
        return f"https://{host}:{port}/{path.lstrip('/')}"

    async def convert(self, objects: list[Object], api_version: str) -> list[Object]:
        """The objects in another version, in their order; raises a StatusError with Kubernetes' words."""
        first = objects[0]
        what = f"conversion webhook for {_group_version_kind(first)}"
        review_version = next((each for each in self._review_versions if each in ("v1", "v1beta1")), "")
        if not review_version:
            raise errors.unknown("no supported conversion review versions")
        uid = self._randomness.uid()
        review = {
            "kind": "ConversionReview",
            "apiVersion": f"apiextensions.k8s.io/{review_version}",
            "request": {"uid": uid, "desiredAPIVersion": api_version, "objects": objects},
            "response": {"uid": "", "convertedObjects": None, "result": {"metadata": {}}},
        }
        try:
            answer = await self._post(orjson.dumps(review, option=orjson.OPT_SORT_KEYS) + b"\n")
            converted = _converted(answer, uid, review_version)
        except (OutboundError, _BadObject) as error:
            raise errors.unknown(f"{what} failed: {error}") from None
        if len(converted) != len(objects):
            raise errors.unknown(f"{what} returned {len(converted)} objects, expected {len(objects)}")
        found: list[Object] = []
        for position, (before, after) in enumerate(zip(objects, converted, strict=True)):
            try:
                found.append(_checked(before, after, api_version))
            except _BadObject as error:
                where = "object" if len(objects) == 1 else f"converted object at index {position}"
                raise errors.unknown(f"{what} returned invalid {where}: {error}") from None
        return found

    async def _post(self, body: bytes) -> Object:
        reply = await self._outbound.request(
            "POST",
            f"{self._url}?timeout={TIMEOUT_S:g}s",
            headers=(("Accept", "application/json, */*"), ("Content-Type", "application/json")),
            body=body,
            trust=self._trust,
            resolve=None if self._service is None else self._resolver(),
            timeout_s=TIMEOUT_S,
        )
        if not 200 <= reply.status < 300:
            raise _BadObject(_refusal(reply.status, reply.body))
        try:
            answer = orjson.loads(reply.body)
        except orjson.JSONDecodeError as error:
            raise _BadObject(f"couldn't get version/kind; json parse error: {error}") from None
        if not isinstance(answer, dict):
            raise _BadObject("Object 'Kind' is missing in '" + reply.body.decode("utf-8", "replace") + "'")
        return answer

    def _resolver(self) -> Resolve:
        service = self._service
        assert service is not None

        async def resolve(host: str, port: int) -> Address:
            return await self._resolve_service(service.get("namespace", ""), service.get("name", ""), port)

        return resolve


def _bundle(encoded: str | None) -> bytes | None:
    if not encoded:
        return None
    try:
        return base64.b64decode(encoded).strip() or None
    except binascii.Error:
        return b""


def _group_version_kind(obj: Object) -> str:
    return f"{obj.get('apiVersion', '')}, Kind={obj.get('kind', '')}"


def _refusal(status: int, body: bytes) -> str:
    text = body.decode("utf-8", "replace").strip()
    if status >= 500:
        return f"an error on the server ({quote(text or 'unknown')}) has prevented the request from succeeding"
    texts = {
        400: "the server rejected our request for an unknown reason",
        401: "the server has asked for the client to provide credentials",
        403: text or "unknown",
        404: "the server could not find the requested resource",
        405: "the server does not allow this method on the requested resource",
    }
    return texts.get(status, f"the server responded with the status code {status} but did not return more information")


def _converted(answer: Object, uid: str, review_version: str) -> list[Any]:
    """The converted objects of an answer that fits the question."""
    response = answer.get("response")
    if review_version == "v1":
        wanted = "apiextensions.k8s.io/v1, Kind=ConversionReview"
        if _group_version_kind(answer) != wanted:
            raise _BadObject(f"expected webhook response of {wanted}, got {_group_version_kind(answer)}")
        if not isinstance(response, dict):
            raise _BadObject("no response provided")
        if response.get("uid", "") != uid:
            raise _BadObject(f"expected response.uid={quote(uid)}, got {quote(str(response.get('uid', '')))}")
    if not isinstance(response, dict):
        raise _BadObject("no response provided")
    result = response.get("result") or {}
    if result.get("status") != "Success":
        if result.get("message"):
            raise _BadObject(result["message"])
        raise _BadObject(f"response.result.status was '{result.get('status', '')}', not 'Success'")
    return response.get("convertedObjects") or []


def _checked(before: Object, after: Any, api_version: str) -> Object:
    """A converted object with the metadata of the original, but for labels and annotations."""
    if not isinstance(after, dict):
        raise _BadObject("Object 'Kind' is missing")
    if after.get("apiVersion") != api_version:
        raise _BadObject(f"invalid groupVersion (expected {api_version}, received {after.get('apiVersion', '')})")
    if after.get("kind") != before.get("kind"):
        raise _BadObject(f"invalid kind (expected {before.get('kind')}, received {after.get('kind')})")
    theirs = after.get("metadata")
    metadata = before["metadata"]
    given: Object = theirs if isinstance(theirs, dict) else {}
    for name, shown in (("name", "name"), ("namespace", "namespace"), ("uid", "UID")):
        if metadata.get(name, "") != given.get(name, ""):
            raise _BadObject(f"must have the same {shown}: {metadata.get(name, '')} != {given.get(name, '')}")
    if "metadata" not in after:
        raise _BadObject("missing metadata in converted object")
    restored = {key: value for key, value in metadata.items() if key not in ("labels", "annotations")}
    for name in ("labels", "annotations"):
        if given.get(name) is not None:
            restored[name] = _strings(given[name], metadata.get(name), name)
    return {**after, "metadata": restored}


def _strings(found: Any, before: Any, name: str) -> Object:
    if not isinstance(found, dict):
        raise _BadObject(f"invalid metadata.{name} of type {_go_type(found)} in converted object")
    for key, value in found.items():
        if not isinstance(value, str):
            raise _BadObject(f"metadata.{name}[{key}] must be a string, but is {_go_type(value)} in converted object")
    if found != before:
        problems = (
            validate_labels(found, "metadata.labels")
            if name == "labels"
            else validate_annotations(found, "metadata.annotation")
        )
        if problems:
            raise _BadObject(aggregate(problems))
    return found


def _go_type(value: Any) -> str:
    names = {str: "string", bool: "bool", int: "int64", float: "float64", list: "[]interface {}", type(None): "<nil>"}
    return names.get(value.__class__, "map[string]interface {}")
