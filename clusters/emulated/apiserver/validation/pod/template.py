"""Pod templates: what workloads make their Pods from."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from clusters.emulated.apiserver.validation.metadata import validate_annotations
from clusters.emulated.apiserver.validation.pod.annotations import (
    annotations_match_fields,
    pod_annotations_errors,
)
from clusters.emulated.apiserver.validation.pod.options import TEMPLATE, options_from
from clusters.emulated.apiserver.validation.pod.spec import validate_pod_spec
from clusters.kube.field import FieldError, child, forbidden
from clusters.kube.selectors import validate_labels

Value = Mapping[str, Any]


def validate_pod_template(template: Value, path: str, old: Value | None = None) -> list[FieldError]:
    """`old` is the stored template, on an update: what it already has may stay."""
    metadata, spec = template.get("metadata") or {}, template.get("spec") or {}
    annotations = metadata.get("annotations") or {}
    options = TEMPLATE
    if old is not None:
        options = options_from(old.get("spec") or {}, (old.get("metadata") or {}).get("annotations"), TEMPLATE)
    errors = validate_labels(metadata.get("labels"), child(path, "labels"))
    if annotations:
        errors += validate_annotations(annotations, child(path, "annotations"))
        errors += pod_annotations_errors(annotations, spec, child(path, "annotations"), options)
    errors += validate_pod_spec(spec, child(path, "spec"), None, options)
    if annotations:
        errors += annotations_match_fields(annotations, spec, child(path, "spec"))
    if spec.get("ephemeralContainers"):
        text = "ephemeral containers not allowed in pod template"
        errors.append(forbidden(child(path, "spec", "ephemeralContainers"), text))
    return errors
