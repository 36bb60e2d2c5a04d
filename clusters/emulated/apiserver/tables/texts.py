"""Texts that many kinds' rows have in common: labels, selectors, containers, lists cut short."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from clusters.emulated.apiserver.tables.durations import since
from clusters.kube import selectors

Object = dict[str, Any]

NONE, UNSET = "<none>", "<unset>"


def name_of(obj: Object) -> str:
    name: str = obj["metadata"].get("name", "")
    return name


def age(obj: Object, now_s: float) -> str:
    return since(obj["metadata"].get("creationTimestamp"), now_s)


def labels(values: Mapping[str, str] | None) -> str:
    return ",".join(f"{key}={value}" for key, value in sorted((values or {}).items())) or NONE


def selector_text(selector: Mapping[str, Any] | None) -> str:
    """A LabelSelector as it would be written in a query; empty where it selects everything or nothing."""
    return str(selectors.from_label_selector(selector))


def selector(value: Mapping[str, Any] | None) -> str:
    try:
        return selector_text(value) or NONE
    except selectors.SelectorError:
        return "<error>"


def containers(pod_spec: Mapping[str, Any] | None) -> tuple[str, str]:
    """Names and images, one comma between them."""
    listed = (pod_spec or {}).get("containers") or ()
    return (
        ",".join(each.get("name", "") for each in listed),
        ",".join(each.get("image", "") for each in listed),
    )


def cut(texts: Sequence[str], max: int = 3, *, empty: str = UNSET) -> str:
    """`a,b,c + 2 more...`"""
    shown = ",".join(texts[:max])
    return f"{shown} + {len(texts) - max} more..." if len(texts) > max else shown or empty


def condition(conditions: Sequence[Mapping[str, Any]] | None, type: str) -> Mapping[str, Any] | None:
    for each in conditions or ():
        if each.get("type") == type:
            return each
    return None


def is_true(conditions: Sequence[Mapping[str, Any]] | None, type: str) -> bool:
    found = condition(conditions, type)
    return found is not None and found.get("status") == "True"
