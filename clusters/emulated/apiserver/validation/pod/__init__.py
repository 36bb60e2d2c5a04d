"""Pods and Pod templates: defaults, validation, warnings. Workload kinds use the template functions from here."""

from __future__ import annotations

from clusters.emulated.apiserver.validation.pod.defaults import (
    default_claim_spec,
    default_pod,
    default_pod_spec,
    default_pod_template,
)
from clusters.emulated.apiserver.validation.pod.dropped import drop_disabled_template_fields
from clusters.emulated.apiserver.validation.pod.spec import validate_pod_spec
from clusters.emulated.apiserver.validation.pod.template import validate_pod_template
from clusters.emulated.apiserver.validation.pod.warnings import warnings_for_pod_template

__all__ = [
    "default_claim_spec",
    "default_pod",
    "default_pod_spec",
    "default_pod_template",
    "drop_disabled_template_fields",
    "validate_pod_spec",
    "validate_pod_template",
    "warnings_for_pod_template",
]
