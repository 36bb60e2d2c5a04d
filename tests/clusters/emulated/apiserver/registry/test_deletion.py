"""Kinds that do not simply vanish: Pods, Namespaces, and what others depend on."""

from __future__ import annotations

from typing import Any

from clusters.emulated.client.blocking import BlockingApi

PODS = "/api/v1/namespaces/shop/pods"


def test_a_pod_on_a_node_is_given_its_grace_period(api: BlockingApi, make_pod: Any, refused: Any) -> None:
    make_pod("web", nodeName="n1")
    deleted = api.delete(f"{PODS}/web")["metadata"]
    assert (deleted["deletionGracePeriodSeconds"], deleted["generation"]) == (30, 2)
    shortened = api.delete(f"{PODS}/web", {"gracePeriodSeconds": 5})["metadata"]
    assert shortened["deletionGracePeriodSeconds"] == 5
    assert api.delete(f"{PODS}/web", {"gracePeriodSeconds": 20})["metadata"] == shortened
    api.delete(f"{PODS}/web", {"gracePeriodSeconds": 0})
    assert refused(lambda: api.get(f"{PODS}/web")).code == 404


def test_watchers_see_a_forced_deletion_before_the_pod_is_gone(api: BlockingApi, make_pod: Any) -> None:
    make_pod("web")
    with api.watch(f"{PODS}?watch=true&resourceVersion=0") as events:
        assert next(events)["type"] == "ADDED"
        api.delete(f"{PODS}/web")
        marked, gone = next(events), next(events)
    assert (marked["type"], marked["object"]["metadata"]["deletionGracePeriodSeconds"]) == ("MODIFIED", 0)
    assert gone["type"] == "DELETED"


def test_a_namespace_goes_with_its_last_finalizer(api: BlockingApi, refused: Any) -> None:
    path = "/api/v1/namespaces/shop"
    deleted = api.delete(path)
    assert (deleted["status"]["phase"], deleted["spec"]["finalizers"]) == ("Terminating", ["kubernetes"])
    assert api.delete(path)["metadata"] == deleted["metadata"]
    api.update(f"{path}/finalize", {"metadata": {"name": "shop"}, "spec": {}})
    assert refused(lambda: api.get(path)).code == 404


def test_a_namespaces_precondition_has_words_of_its_own(api: BlockingApi, refused: Any) -> None:
    error = refused(lambda: api.delete("/api/v1/namespaces/shop", {"preconditions": {"uid": "x"}}))
    assert "Precondition failed: UID in precondition: x, UID in object meta: " in error.message


def test_jobs_orphan_their_pods_unless_told_otherwise(api: BlockingApi) -> None:
    jobs = "/apis/batch/v1/namespaces/shop/jobs"
    template = {"spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "x"}]}}
    api.create(jobs, {"metadata": {"name": "once"}, "spec": {"template": template}})
    api.delete(f"{jobs}/once")
    assert api.get(f"{jobs}/once")["metadata"]["finalizers"] == ["orphan"]
