"""What all CONNECT subresources share: the options object that admission sees."""

from __future__ import annotations

from typing import Any

from clusters.emulated.apiserver.admission.attributes import Attributes
from clusters.emulated.apiserver.options import first
from clusters.emulated.apiserver.registry.served import Served
from clusters.emulated.apiserver.request import Request
from clusters.emulated.apiserver.services import Services
from clusters.kube import errors
from clusters.kube.schema import shape

Object = dict[str, Any]


async def admit_connect(request: Request, served: Served, services: Services, kind: str, options: Object) -> None:
    """Asks both kinds of admission whether this connection may be made."""
    if first(request.query, "dryRun"):
        raise errors.bad_request("dryRun is not supported")
    struct = services.catalogue.kind("", "v1", kind)
    assert struct is not None, f"no shape of {kind}"
    info = request.info
    given = {name: value for name, value in options.items() if value}
    attributes = Attributes(
        operation="CONNECT",
        group=info.group,
        version=info.version,
        kind=kind,
        resource=info.resource,
        subresource=info.subresource,
        namespace=info.namespace,
        name=info.name,
        object=shape(struct, {"kind": kind, "apiVersion": "v1", **given}),
        old_object=None,
        options={},
        dry_run=False,
        user=request.user,
        request=request,
        namespaced=served.resource.namespaced,
    )
    await services.admission.admit(attributes)
    await services.admission.validate(attributes)
