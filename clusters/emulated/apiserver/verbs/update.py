"""PUT: the object is replaced by the body, unless somebody changed it since the client read it."""

from __future__ import annotations

from typing import Any

from clusters.emulated.apiserver.media import body as bodies
from clusters.emulated.apiserver.options import write_options
from clusters.emulated.apiserver.registry.served import Served
from clusters.emulated.apiserver.registry.stored import Stored
from clusters.emulated.apiserver.request import Request
from clusters.emulated.apiserver.verbs.write import Writer, copy_json, dedup_owners, expected_namespace, match_namespace
from clusters.kube import errors

Object = dict[str, Any]


def check_name(obj: Object, name: str, namespace: str) -> None:
    """The object must be the one the URL names."""
    given = obj["metadata"].get("name", "")
    if not given:
        raise errors.bad_request(
            f"the name of the object ({name} based on URL) was undeterminable: name must be provided"
        )
    if given != name:
        raise errors.bad_request(f"the name of the object ({given}) does not match the name on the URL ({name})")
    given_namespace = obj["metadata"].get("namespace", "")
    if namespace and given_namespace and given_namespace != namespace:
        raise errors.bad_request(
            f"the namespace of the object ({given_namespace}) does not match the namespace on the request ({namespace})"
        )


async def update(request: Request, served: Served, writer: Writer) -> tuple[Stored, bool]:
    """(the object as stored, whether the PUT created it)."""
    bodies.raw_body(request)
    options = write_options(request.query, "UpdateOptions")
    is_yaml = bodies.input_is_yaml(request, custom=served.struct is None)
    strict = options.field_validation != "Ignore"
    sent, problems = bodies.read_object(
        request, served, yaml=is_yaml, strict=strict, catalogue=writer.services.catalogue
    )
    bodies.field_problems(request, options.field_validation, problems, served, served.resource.version)
    match_namespace(sent["metadata"], expected_namespace(request, served))
    name = request.info.name
    check_name(sent, name, expected_namespace(request, served))
    dedup_owners(request, sent, after_admission=False)
    uid = sent["metadata"].get("uid", "")

    async def replaced(old: Object | None) -> Object:
        obj = writer.own_fields(request, served, old, copy_json(sent), options)
        return await writer.admit_update(request, served, obj, old, options)

    return await writer.update(request, served, name, replaced, options, precondition_uid=uid)
