"""MutatingAdmissionWebhook: webhooks asked one after the other, each seeing what the one before changed."""

from __future__ import annotations

from clusters.emulated.apiserver.admission.attributes import AdmissionPlugin, Attributes
from clusters.emulated.apiserver.admission.authorizing import Authorize
from clusters.emulated.apiserver.admission.matching import Equivalents, Resource, is_exempt
from clusters.emulated.apiserver.admission.reinvocation import Reinvocation
from clusters.emulated.apiserver.admission.shapes import Convert, Redecode, Versioned
from clusters.emulated.apiserver.admission.webhooks.call import (
    WebhookCaller,
    WebhookCallError,
    decode_patch,
    plain,
)
from clusters.emulated.apiserver.admission.webhooks.configuration import Webhook, WebhookSource, note
from clusters.emulated.apiserver.admission.webhooks.response import Answer
from clusters.emulated.apiserver.objects import Objects
from clusters.emulated.clock.clock import Clock
from clusters.kube import errors
from clusters.kube.errors import StatusError
from clusters.kube.gojson import JsonError, loads
from clusters.kube.gostring import quote
from clusters.kube.patch import json_patch
from clusters.kube.patch.errors import PatchError

_CONFIGURATIONS = "mutatingwebhookconfigurations.admissionregistration.k8s.io"
_TIMED_OUT = "request did not complete within requested timeout"


class MutatingAdmissionWebhook(AdmissionPlugin):
    name = "MutatingAdmissionWebhook"

    def __init__(
        self,
        objects: Objects,
        caller: WebhookCaller,
        clock: Clock,
        authorize: Authorize,
        convert: Convert,
        redecode: Redecode,
        equivalents: Equivalents,
    ) -> None:
        self._objects = objects
        self._caller = caller
        self._clock = clock
        self._authorize = authorize
        self._convert = convert
        self._redecode = redecode
        self._equivalents = equivalents
        self._source = WebhookSource(objects, _CONFIGURATIONS)

    async def admit(self, attributes: Attributes) -> None:
        webhooks = self._source.webhooks()
        if not webhooks or is_exempt(attributes):
            return
        reinvocation = attributes.reinvocation
        if reinvocation is None:
            reinvocation = attributes.reinvocation = Reinvocation()
        tracker = reinvocation.tracker(self.name)
        if reinvocation.is_reinvoke and tracker.last_output != plain(attributes.object):
            # Built-in plugins changed what the webhooks had left: all that may be asked again are.
            tracker.require_reinvoking_previous()
        versioned = Versioned(attributes, self._convert)
        try:
            for position, webhook in enumerate(webhooks):
                resource = await webhook.match(versioned, self._objects, self._equivalents, self._authorize)
                if resource is None or (reinvocation.is_reinvoke and not tracker.should_reinvoke(webhook.uid)):
                    continue
                changed = await self._ask(webhook, position, versioned, resource, reinvocation.is_reinvoke)
                if changed:
                    tracker.require_reinvoking_previous()
                    reinvocation.should_reinvoke = True
                if webhook.reinvocation_policy == "IfNeeded":
                    tracker.note_invoked(webhook.uid)
        finally:
            if tracker.previously_invoked or tracker.to_reinvoke:
                tracker.last_output = plain(attributes.object)

    async def _ask(
        self, webhook: Webhook, position: int, versioned: Versioned, resource: Resource, again: bool
    ) -> bool:
        attributes = versioned.attributes
        key = f"round_{int(again)}_index_{position}"
        identity = {"configuration": webhook.configuration, "webhook": webhook.name}
        changed = False
        try:
            new, old = versioned.new(resource), versioned.old(resource)
            answer = await self._caller.ask(webhook, attributes, resource, new, old, mutating=True)
            if not answer.allowed:
                raise answer.denial(webhook.name)
            if answer.patch:
                changed = self._patch(webhook, answer, versioned, resource, key)
        except WebhookCallError as failed:
            if not webhook.ignores_failures:
                raise errors.internal(str(failed)) from failed
            note(attributes, f"failed-open.mutation.webhook.admission.k8s.io/{key}", webhook.name)
            if self._clock.monotonic_s() >= attributes.request.deadline_s:
                raise errors.timeout(_TIMED_OUT) from failed
        finally:
            value = plain({**identity, "mutated": changed}).decode()
            note(attributes, f"mutation.webhook.admission.k8s.io/{key}", value)
        return changed

    def _patch(self, webhook: Webhook, answer: Answer, versioned: Versioned, resource: Resource, key: str) -> bool:
        try:
            patch = loads(decode_patch(answer))
            operations, _ = json_patch.operations(patch, strict=False)
        except (JsonError, PatchError) as error:
            text = f"received undecodable patch in webhook response: {error}"
            raise WebhookCallError(webhook, text) from error
        if not operations:
            return False
        current = versioned.new(resource)
        if current is None:
            raise errors.internal(
                f"admission webhook {quote(webhook.name)} attempted to modify the object, "
                "which is not supported for this operation"
            )
        if answer.patch_type != "JSONPatch":
            raise WebhookCallError(webhook, f"unsupported patch type {quote(answer.patch_type)}")
        attributes = versioned.attributes
        try:
            patched = json_patch.apply(current, operations)
            new = self._redecode(attributes, patched)
        except StatusError:
            raise
        except ValueError as error:
            # Not a failed call: the failurePolicy has no say in this.
            raise errors.internal(str(error)) from error
        note(
            attributes,
            f"patch.webhook.admission.k8s.io/{key}",
            plain(
                {
                    "configuration": webhook.configuration,
                    "webhook": webhook.name,
                    "patch": operations,
                    "patchType": "JSONPatch",
                }
            ).decode(),
        )
        changed = new != attributes.object
        attributes.object = new
        return changed
