"""What a method and a URL ask for."""

from __future__ import annotations

from urllib.parse import parse_qs, urlsplit

import pytest

from clusters.emulated.apiserver.request_info import RequestInfoError, request_info

# method, URL, verb, group, version, namespace, resource, subresource, name
RESOURCES = [
    ("GET", "/api/v1/namespaces", "list", "", "v1", "", "namespaces", "", ""),
    ("GET", "/api/v1/namespaces/x", "get", "", "v1", "x", "namespaces", "", "x"),
    ("PUT", "/api/v1/namespaces/x/finalize", "update", "", "v1", "x", "namespaces", "finalize", "x"),
    ("PATCH", "/api/v1/namespaces/x/status", "patch", "", "v1", "x", "namespaces", "status", "x"),
    ("GET", "/api/v1/namespaces/x/pods", "list", "", "v1", "x", "pods", "", ""),
    ("GET", "/api/v1/namespaces/x/pods?watch=true", "watch", "", "v1", "x", "pods", "", ""),
    ("GET", "/api/v1/namespaces/x/pods?watch=0", "list", "", "v1", "x", "pods", "", ""),
    ("GET", "/api/v1/namespaces/x/pods?watch", "watch", "", "v1", "x", "pods", "", ""),
    ("HEAD", "/api/v1/nodes/n", "get", "", "v1", "", "nodes", "", "n"),
    ("POST", "/api/v1/namespaces/x/pods/p/exec", "create", "", "v1", "x", "pods", "exec", "p"),
    ("DELETE", "/api/v1/namespaces/x/pods", "deletecollection", "", "v1", "x", "pods", "", ""),
    ("DELETE", "/api/v1/namespaces/x/pods/p", "delete", "", "v1", "x", "pods", "", "p"),
    ("GET", "/apis/apps/v1/deployments", "list", "apps", "v1", "", "deployments", "", ""),
    ("GET", "/api/v1/nodes/n/proxy/a/b", "get", "", "v1", "", "nodes", "proxy", "n"),
    ("GET", "/api/v1/watch/namespaces/x/pods", "watch", "", "v1", "x", "pods", "", ""),
    ("GET", "/api/v1/proxy/namespaces/x/pods/p/y", "proxy", "", "v1", "x", "pods", "", "p"),
    ("OPTIONS", "/api/v1/pods", "", "", "v1", "", "pods", "", ""),
    ("GET", "/api/v1/pods?fieldSelector=metadata.name%3Dp", "list", "", "v1", "", "pods", "", "p"),
    ("GET", "/api/v1/pods?fieldSelector=metadata.name%3Dp&limit=x", "list", "", "v1", "", "pods", "", ""),
    ("GET", "/api/v1/pods?fieldSelector=metadata.name!%3Dp", "list", "", "v1", "", "pods", "", ""),
    ("GET", "/api/v1/namespaces/x%20y/pods/p", "get", "", "v1", "x y", "pods", "", "p"),
]


@pytest.mark.parametrize(
    ("method", "url", "verb", "group", "version", "namespace", "resource", "subresource", "name"), RESOURCES
)
def test_resource_requests(
    method: str,
    url: str,
    verb: str,
    group: str,
    version: str,
    namespace: str,
    resource: str,
    subresource: str,
    name: str,
) -> None:
    parts = urlsplit(url)
    info = request_info(method, parts.path, parse_qs(parts.query, keep_blank_values=True))
    assert info.is_resource
    assert (info.verb, info.group, info.version, info.namespace) == (verb, group, version, namespace)
    assert (info.resource, info.subresource, info.name) == (resource, subresource, name)


@pytest.mark.parametrize("path", ["/", "/api", "/api/v1", "/apis/apps/v1", "/healthz/etcd", "/metrics", "/a/b/c/d"])
def test_other_requests_have_the_method_as_verb(path: str) -> None:
    info = request_info("POST", path, {})
    assert not info.is_resource
    assert (info.verb, info.path) == ("post", path)


def test_selectors_count_for_verbs_on_collections_only() -> None:
    query = {"fieldSelector": ["spec.nodeName=n"], "labelSelector": ["a=b"]}
    listed = request_info("GET", "/api/v1/pods", query)
    assert (listed.field_selector, listed.label_selector) == ("spec.nodeName=n", "a=b")
    one = request_info("GET", "/api/v1/namespaces/x/pods/p", query)
    assert (one.field_selector, one.label_selector) == ("", "")


def test_a_watch_of_nothing_cannot_be_read() -> None:
    with pytest.raises(RequestInfoError, match="unable to determine kind and namespace from url, /api/v1/watch"):
        request_info("GET", "/api/v1/watch", {})
