"""Documents about paths that are no resources: `/api`, `/apis`, the groups, `/version`, the token issuer."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from clusters.emulated.apiserver.openapi.operations import group_tag, group_title
from clusters.emulated.apiserver.openapi.schemas import META, Schemas

Object = dict[str, Any]

_FORMS = ("application/json", "application/vnd.kubernetes.protobuf", "application/yaml")


def fixed_documents(groups: Iterable[str]) -> list[str]:
    """Names of all such documents, as the index lists them."""
    names = [".well-known/openid-configuration", "api", "apis", "openid/v1/jwks", "version"]
    return [*names, *(f"apis/{group}" for group in groups if group)]


def fixed_paths(name: str, schemas: Schemas) -> dict[str, Object]:
    """The one path of the document `name`, one of those in `fixed_documents`."""
    if name.startswith("apis/"):
        group = name.removeprefix("apis/")
        answer = schemas.refer(f"{META}.APIGroup")
        return _get(name, group_tag(group), "get information of a group", f"get{group_title(group)}APIGroup", answer)
    if name == "api":
        answer = schemas.refer(f"{META}.APIVersions")
        return _get(name, "core", "get available API versions", "getCoreAPIVersions", answer)
    if name == "apis":
        answer = schemas.refer(f"{META}.APIGroupList")
        return _get(name, "apis", "get available API versions", "getAPIVersions", answer)
    if name == "version":
        answer = schemas.refer("io.k8s.apimachinery.pkg.version.Info")
        text = "get the version information for this server"
        return _get(name, "version", text, "getCodeVersion", answer, _FORMS[:1])
    if name == "openid/v1/jwks":
        text = "get service account issuer OpenID JSON Web Key Set (contains public token verification keys)"
        id = "getServiceAccountIssuerOpenIDKeyset"
        return _get(name, "openid", text, id, {"type": "string"}, ("application/jwk-set+json",))
    text = "get service account issuer OpenID configuration, also known as the 'OIDC discovery doc'"
    id = "getServiceAccountIssuerOpenIDConfiguration"
    return _get(name, "WellKnown", text, id, {"type": "string"}, _FORMS[:1])


def _get(
    name: str, tag: str, description: str, id: str, answer: Object, forms: tuple[str, ...] = _FORMS
) -> dict[str, Object]:
    content = {form: {"schema": answer} for form in forms}
    operation = {
        "tags": [tag],
        "description": description,
        "operationId": id,
        "responses": {
            "200": {"description": "OK", "content": content},
            "401": {"description": "Unauthorized"},
        },
    }
    return {f"/{name}/": {"get": operation}}
