"""PriorityLevelConfiguration: how many requests of a level run, wait, or are refused."""

from __future__ import annotations

import math

from clusters.emulated.apiserver.validation.fields import equal
from clusters.emulated.apiserver.validation.flowcontrol.flowschema import GROUP, typed_condition_errors
from clusters.emulated.apiserver.validation.lifecycle import LifecycleRules
from clusters.emulated.apiserver.validation.rules import Object
from clusters.kube.field import FieldError, forbidden, invalid, not_supported, required
from clusters.kube.internal import printed

_QUEUES_MAX = 10_000_000
_HASH_BITS_MAX = 60
_PRESERVE_ZERO = "flowcontrol.k8s.io/preserve-zero-concurrency-shares"
_CATCH_ALL = {
    "type": "Limited",
    "limited": {"nominalConcurrencyShares": 5, "lendablePercent": 0, "limitResponse": {"type": "Reject"}},
}
_PERCENT = "must be between 0 and 100, inclusive"
_NOT_NEGATIVE = "must be a non-negative integer"


class PriorityLevelConfigurationRules(LifecycleRules):
    group, kind = GROUP, "PriorityLevelConfiguration"
    metadata_on_update = "whole"
    zero_status = ()
    generation_fields = ("spec",)
    status_keeps_metadata = True

    def default(self, obj: Object) -> None:
        spec = obj.setdefault("spec", {})
        exempt, limited = spec.get("exempt"), spec.get("limited")
        if exempt is not None:
            exempt.setdefault("nominalConcurrencyShares", 0)
            exempt.setdefault("lendablePercent", 0)
        if limited is None:
            return
        limited.setdefault("nominalConcurrencyShares", 30)
        limited.setdefault("lendablePercent", 0)
        queuing = (limited.get("limitResponse") or {}).get("queuing")
        if queuing is not None:
            for name, value in (("handSize", 8), ("queues", 64), ("queueLengthLimit", 50)):
                queuing[name] = queuing.get(name) or value

    def validate_create(self, obj: Object) -> list[FieldError]:
        metadata, spec = obj.get("metadata") or {}, obj.get("spec") or {}
        name = metadata.get("name") or ""
        errors: list[FieldError] = []
        if _PRESERVE_ZERO in (metadata.get("annotations") or {}):
            text = f"annotation '{_PRESERVE_ZERO}' is forbidden"
            errors.append(forbidden("metadata.annotations", text))
        errors += _spec_errors(name, spec)
        value = printed("flowcontrol.PriorityLevelConfigurationSpec", spec) if name in _FIXED else ""
        if name == "exempt" and not equal(_without_exempt(spec), {"type": "Exempt"}):
            text = "spec of 'exempt' except the 'spec.exempt' field must equal the fixed value"
            errors.append(invalid("spec", value, text))
        elif name == "catch-all" and not equal(spec, _CATCH_ALL):
            errors.append(invalid("spec", value, "spec of 'catch-all' must equal the fixed value"))
        return errors + typed_condition_errors(obj.get("status") or {})

    def validate_status(self, obj: Object, old: Object) -> list[FieldError]:
        return typed_condition_errors(obj.get("status") or {})


_FIXED = ("exempt", "catch-all")


def _without_exempt(spec: Object) -> Object:
    return {name: value for name, value in spec.items() if name != "exempt"}


def _spec_errors(name: str, spec: Object) -> list[FieldError]:
    errors: list[FieldError] = []
    kind, exempt, limited = spec.get("type") or "", spec.get("exempt"), spec.get("limited")
    if (name == "exempt") != (kind == "Exempt"):
        errors.append(invalid("spec.type", kind, "must be 'Exempt' if and only if `name` is 'exempt'"))
    if kind == "Exempt":
        if limited is not None:
            errors.append(forbidden("spec.limited", "must be nil if the type is not Limited"))
        errors += _share_errors(exempt or {}, "spec.exempt")
    elif kind == "Limited":
        if exempt is not None:
            errors.append(forbidden("spec.exempt", "must be nil if the type is Limited"))
        if limited is None:
            errors.append(required("spec.limited", "must not be empty when type is Limited"))
        else:
            errors += _limited_errors(limited, "spec.limited")
    elif kind:
        errors.append(not_supported("spec.type", kind, ("Exempt", "Limited")))
    else:
        errors.append(required("spec.type"))
    return errors


def _share_errors(level: Object, path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    shares, lendable = level.get("nominalConcurrencyShares"), level.get("lendablePercent")
    if shares is not None and shares < 0:
        errors.append(invalid(f"{path}.nominalConcurrencyShares", shares, _NOT_NEGATIVE))
    if lendable is not None and not 0 <= lendable <= 100:
        errors.append(invalid(f"{path}.lendablePercent", lendable, _PERCENT))
    return errors


def _limited_errors(level: Object, path: str) -> list[FieldError]:
    errors = _share_errors({"nominalConcurrencyShares": level.get("nominalConcurrencyShares")}, path)
    errors += _response_errors(level.get("limitResponse") or {}, f"{path}.limitResponse")
    errors += _share_errors({"lendablePercent": level.get("lendablePercent")}, path)
    borrowing = level.get("borrowingLimitPercent")
    if borrowing is not None and borrowing < 0:
        text = f"if specified, {_NOT_NEGATIVE}"
        errors.append(invalid(f"{path}.borrowingLimitPercent", borrowing, text))
    return errors


def _response_errors(response: Object, path: str) -> list[FieldError]:
    kind, queuing = response.get("type") or "", response.get("queuing")
    if kind == "Reject":
        if queuing is None:
            return []
        text = "must be nil if limited.limitResponse.type is not Limited"
        return [forbidden(f"{path}.queuing", text)]
    if kind == "Queue":
        if queuing is None:
            text = "must not be empty if limited.limitResponse.type is Limited"
            return [required(f"{path}.queuing", text)]
        return _queuing_errors(queuing, f"{path}.queuing")
    return [not_supported(f"{path}.type", kind, ("Queue", "Reject"))] if kind else [required(f"{path}.type")]


def _queuing_errors(queuing: Object, path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    length, queues, hand = (queuing.get(name) or 0 for name in ("queueLengthLimit", "queues", "handSize"))
    if length <= 0:
        errors.append(invalid(f"{path}.queueLengthLimit", length, "must be positive"))
    if queues <= 0:
        errors.append(invalid(f"{path}.queues", queues, "must be positive"))
    elif queues > _QUEUES_MAX:
        errors.append(invalid(f"{path}.queues", queues, f"must not be greater than {_QUEUES_MAX}"))
    hand_path = f"{path}.handSize"
    if hand <= 0:
        errors.append(invalid(hand_path, hand, "must be positive"))
    elif hand > queues:
        errors.append(invalid(hand_path, hand, f"should not be greater than queues ({queues})"))
    elif math.ceil(math.log2(queues) * hand) > _HASH_BITS_MAX:
        text = (
            f"required entropy bits of deckSize {queues} and handSize {hand} "
            f"should not be greater than {_HASH_BITS_MAX}"
        )
        errors.append(invalid(hand_path, hand, text))
    return errors
