"""POST to a collection: a new object."""

from __future__ import annotations

from clusters.emulated.apiserver.media import body as bodies
from clusters.emulated.apiserver.options import write_options
from clusters.emulated.apiserver.registry.served import Served
from clusters.emulated.apiserver.registry.stored import Stored
from clusters.emulated.apiserver.request import Request
from clusters.emulated.apiserver.verbs.write import Writer


async def create(request: Request, served: Served, writer: Writer) -> Stored:
    is_yaml = bodies.input_is_yaml(request, custom=served.struct is None)
    bodies.raw_body(request)
    options = write_options(request.query, "CreateOptions")
    strict = options.field_validation != "Ignore"
    obj, problems = bodies.read_object(
        request, served, yaml=is_yaml, strict=strict, catalogue=writer.services.catalogue
    )
    bodies.field_problems(request, options.field_validation, problems, served, served.resource.version)
    return await writer.create(request, served, obj, options)
