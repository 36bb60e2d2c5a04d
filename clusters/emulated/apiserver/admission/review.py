"""AdmissionReview: the question a webhook is sent, complete as Kubernetes sends it."""

from __future__ import annotations

from typing import Any

from clusters.emulated.apiserver.admission.attributes import Attributes
from clusters.emulated.apiserver.admission.matching import Resource, namespace_of, requested

Object = dict[str, Any]
_OPTIONS_KIND = {"CREATE": "CreateOptions", "UPDATE": "UpdateOptions", "DELETE": "DeleteOptions"}


def user_info(attributes: Attributes) -> Object:
    user = attributes.user
    info: Object = {"username": user.name} if user.name else {}
    if user.uid:
        info["uid"] = user.uid
    if user.groups:
        info["groups"] = list(user.groups)
    if user.extra:
        info["extra"] = {name: list(user.extra[name]) for name in sorted(user.extra)}
    return info


def operation_options(attributes: Attributes) -> Object | None:
    """The options with kind and apiVersion; a CONNECT has none, its object is the options."""
    kind = _OPTIONS_KIND.get(attributes.operation)
    if kind is None:
        return None
    options = attributes.options or {}
    rest = {name: options[name] for name in options if name not in ("kind", "apiVersion")}
    return {"kind": options.get("kind") or kind, "apiVersion": "meta.k8s.io/v1", **rest}


def object_name(attributes: Attributes) -> str:
    """Empty while a name is still to be generated."""
    if attributes.name or attributes.operation != "CREATE" or attributes.object is None:
        return attributes.name
    name: str = (attributes.object.get("metadata") or {}).get("name", "")
    return name


def admission_request(attributes: Attributes, resource: Resource) -> Object:
    """The request as CEL sees it, and the frame of what a webhook is sent; without uid and objects."""
    asked = requested(attributes)
    request: Object = {
        "kind": {"group": resource.kind_group, "version": resource.kind_version, "kind": resource.kind},
        "resource": {"group": resource.group, "version": resource.version, "resource": resource.resource},
    }
    if attributes.subresource:
        request["subResource"] = attributes.subresource
    request["requestKind"] = {"group": asked.kind_group, "version": asked.kind_version, "kind": asked.kind}
    request["requestResource"] = {"group": asked.group, "version": asked.version, "resource": asked.resource}
    if attributes.subresource:
        request["requestSubResource"] = attributes.subresource
    name, namespace = object_name(attributes), namespace_of(attributes)
    if name:
        request["name"] = name
    if namespace:
        request["namespace"] = namespace
    request["operation"] = attributes.operation
    request["userInfo"] = user_info(attributes)
    request["dryRun"] = attributes.dry_run
    request["options"] = operation_options(attributes)
    return request


def admission_review(
    version: str,
    uid: str,
    attributes: Attributes,
    resource: Resource,
    obj: Object | None,
    old_object: Object | None,
) -> Object:
    """`version` is that of the review, v1 or v1beta1; both objects are in the version of `resource`."""
    frame = admission_request(attributes, resource)
    request: Object = {"uid": uid}
    for field, value in frame.items():
        if field == "dryRun":
            request["object"] = _type_first(obj)
            request["oldObject"] = _type_first(old_object)
        request[field] = value
    return {"kind": "AdmissionReview", "apiVersion": f"admission.k8s.io/{version}", "request": request}


def _type_first(obj: Object | None) -> Object | None:
    if obj is None:
        return None
    rest = {name: obj[name] for name in obj if name not in ("kind", "apiVersion")}
    return {"kind": obj.get("kind", ""), "apiVersion": obj.get("apiVersion", ""), **rest}
