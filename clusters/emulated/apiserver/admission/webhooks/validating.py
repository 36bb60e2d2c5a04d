"""ValidatingAdmissionWebhook: all webhooks that match are asked at once; the first one's no counts.

Kubernetes answers with whichever refusal arrived first; here it is the first in the configurations' order,
so that the same run gives the same answer.
"""

from __future__ import annotations

import asyncio

from clusters.emulated.apiserver.admission.attributes import AdmissionPlugin, Attributes
from clusters.emulated.apiserver.admission.authorizing import Authorize
from clusters.emulated.apiserver.admission.matching import Equivalents, Resource, is_exempt
from clusters.emulated.apiserver.admission.shapes import Convert, Versioned
from clusters.emulated.apiserver.admission.webhooks.call import WebhookCaller, WebhookCallError
from clusters.emulated.apiserver.admission.webhooks.configuration import Webhook, WebhookSource, note
from clusters.emulated.apiserver.objects import Objects
from clusters.emulated.clock.clock import Clock
from clusters.kube import errors
from clusters.kube.errors import StatusError

_CONFIGURATIONS = "validatingwebhookconfigurations.admissionregistration.k8s.io"
_TIMED_OUT = "request did not complete within requested timeout"


class ValidatingAdmissionWebhook(AdmissionPlugin):
    name = "ValidatingAdmissionWebhook"

    def __init__(
        self,
        objects: Objects,
        caller: WebhookCaller,
        clock: Clock,
        authorize: Authorize,
        convert: Convert,
        equivalents: Equivalents,
    ) -> None:
        self._objects = objects
        self._caller = caller
        self._clock = clock
        self._authorize = authorize
        self._convert = convert
        self._equivalents = equivalents
        self._source = WebhookSource(objects, _CONFIGURATIONS)

    async def validate(self, attributes: Attributes) -> None:
        webhooks = self._source.webhooks()
        if not webhooks or is_exempt(attributes):
            return
        versioned = Versioned(attributes, self._convert)
        relevant: list[tuple[Webhook, Resource]] = []
        for webhook in webhooks:
            resource = await webhook.match(versioned, self._objects, self._equivalents, self._authorize)
            if resource is not None:
                relevant.append((webhook, resource))
        if not relevant:
            return
        if self._clock.monotonic_s() >= attributes.request.deadline_s:
            raise errors.timeout(_TIMED_OUT)
        if len(relevant) == 1:
            refusals = [await self._ask(*relevant[0], 0, versioned)]
        else:
            async with asyncio.TaskGroup() as group:
                calls = [
                    group.create_task(self._ask(webhook, resource, position, versioned))
                    for position, (webhook, resource) in enumerate(relevant)
                ]
            refusals = [call.result() for call in calls]
        for refusal in refusals:
            if refusal is not None:
                raise refusal

    async def _ask(
        self, webhook: Webhook, resource: Resource, position: int, versioned: Versioned
    ) -> StatusError | None:
        attributes = versioned.attributes
        new, old = versioned.new(resource), versioned.old(resource)
        try:
            answer = await self._caller.ask(webhook, attributes, resource, new, old, mutating=False)
        except WebhookCallError as failed:
            if not webhook.ignores_failures:
                return errors.internal(str(failed))
            key = f"failed-open.validating.webhook.admission.k8s.io/round_0_index_{position}"
            note(attributes, key, webhook.name)
            return None
        except StatusError as refusal:
            return refusal
        return None if answer.allowed else answer.denial(webhook.name)
