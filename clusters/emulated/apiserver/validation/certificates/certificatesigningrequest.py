"""CertificateSigningRequest: its spec is fixed at creation; `approval` decides, `status` answers.

Who asked (spec.username, uid, groups, extra) is what authentication found, never what the client wrote: the
registry calls `set_requester`. Conditions without times get the time of the write: `set_condition_times`.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from clusters.emulated.apiserver.validation.certificates.signername import signer_name_errors
from clusters.emulated.apiserver.validation.fields import equal
from clusters.emulated.apiserver.validation.lifecycle import keep_field
from clusters.emulated.apiserver.validation.rules import KindRules, Object
from clusters.kube.field import FieldError, duplicate, forbidden, index, invalid, not_supported, required
from clusters.kube.gostring import quote

_USAGES = (
    "any", "cert sign", "client auth", "code signing", "content commitment", "crl sign", "data encipherment",
    "decipher only", "digital signature", "email protection", "encipher only", "ipsec end system", "ipsec tunnel",
    "ipsec user", "key agreement", "key encipherment", "microsoft sgc", "netscape sgc", "ocsp signing", "s/mime",
    "server auth", "signing", "timestamping",
)  # fmt: skip
_LEGACY_SIGNER = "kubernetes.io/legacy-unknown"
_DECISIONS = ("Approved", "Denied")
_FINAL = (*_DECISIONS, "Failed")
_PEM_BLOCK = re.compile(rb"-----BEGIN ([^\n-]*)-----\r?\n(.*?)-----END \1-----[ \t]*(?:\r?\n|$)", re.DOTALL)
_EXPIRATION_S_MIN = 600


class _May(NamedTuple):
    """What the endpoint, or the stored object, lets this write do."""

    decide: bool = False
    certify: bool = False
    both_decisions: bool = False
    legacy_signer: bool = False
    duplicate_conditions: bool = False
    untyped_conditions: bool = False
    any_certificate: bool = False
    unknown_usages: bool = False
    duplicate_usages: bool = False


class CertificateSigningRequestRules(KindRules):
    group, kind = "certificates.k8s.io", "CertificateSigningRequest"
    metadata_on_update = "both"
    metadata_on_status = "both"

    def validate_name(self, name: str, prefix: bool) -> list[str]:
        return []

    def prepare_create(self, obj: Object) -> None:
        obj["status"] = {}

    def set_requester(
        self, obj: Object, username: str, uid: str, groups: Sequence[str], extra: Mapping[str, Sequence[str]]
    ) -> None:
        """To be called after `prepare_create`, with what authentication found."""
        spec = obj.setdefault("spec", {})
        for name, value in (
            ("username", username), ("uid", uid), ("groups", list(groups)),
            ("extra", {name: list(values) for name, values in extra.items()}),
        ):  # fmt: skip
            if value:
                spec[name] = value
            else:
                spec.pop(name, None)

    def prepare_update(self, obj: Object, old: Object) -> None:
        keep_field(obj, old, "spec")
        keep_field(obj, old, "status")

    def prepare_status(self, obj: Object, old: Object) -> None:
        super().prepare_status(obj, old)
        status, old_status = obj.setdefault("status", {}), old.get("status") or {}
        for decision in _DECISIONS:
            # A decision is kept exactly as it was made, if it is still mentioned.
            mentioned = _of_type(status, decision)
            stored = _of_type(old_status, decision)
            if len(mentioned) == len(stored):
                for position, condition in zip(mentioned, stored, strict=True):
                    status["conditions"][position] = old_status["conditions"][condition]

    def prepare_approval(self, obj: Object, old: Object) -> None:
        """Through `approval` only the conditions change."""
        conditions = (obj.get("status") or {}).get("conditions")
        keep_field(obj, old, "spec")
        obj["status"] = dict(old.get("status") or {})
        obj["status"].pop("conditions", None)
        if conditions:
            obj["status"]["conditions"] = conditions

    def set_condition_times(self, obj: Object, old: Object, now: str) -> None:
        """To be called after `prepare_status` or `prepare_approval`."""
        stored = (old.get("status") or {}).get("conditions") or ()
        for condition in (obj.get("status") or {}).get("conditions") or ():
            if not condition.get("lastUpdateTime"):
                condition["lastUpdateTime"] = now
            if not condition.get("lastTransitionTime"):
                same = (
                    each["lastTransitionTime"]
                    for each in stored
                    if each.get("type") == condition.get("type")
                    and each.get("status") == condition.get("status")
                    and each.get("lastTransitionTime")
                )
                condition["lastTransitionTime"] = next(same, now)

    def validate_create(self, obj: Object) -> list[FieldError]:
        return _request_errors(obj, _May())

    def validate_update(self, obj: Object, old: Object) -> list[FieldError]:
        return _update_errors(obj, old, _tolerance(obj, old))

    def validate_status(self, obj: Object, old: Object) -> list[FieldError]:
        return _update_errors(obj, old, _tolerance(obj, old)._replace(certify=True))

    def validate_approval(self, obj: Object, old: Object) -> list[FieldError]:
        return _update_errors(obj, old, _tolerance(obj, old)._replace(decide=True))

    def selectable_fields(self, obj: Object) -> dict[str, str]:
        return {"spec.signerName": (obj.get("spec") or {}).get("signerName") or ""}


def _of_type(status: Object, type_name: str) -> list[int]:
    return [
        position
        for position, condition in enumerate(status.get("conditions") or ())
        if condition.get("type") == type_name
    ]


def _tolerance(obj: Object, old: Object) -> _May:
    spec, status = old.get("spec") or {}, old.get("status") or {}
    usages = spec.get("usages") or []
    types = [condition.get("type") or "" for condition in status.get("conditions") or ()]
    certificate = status.get("certificate") or ""
    return _May(
        both_decisions=all(decision in types for decision in _DECISIONS),
        legacy_signer=spec.get("signerName") == _LEGACY_SIGNER,
        duplicate_conditions=len(set(types)) < len(types),
        untyped_conditions="" in types,
        any_certificate=certificate == ((obj.get("status") or {}).get("certificate") or "")
        or bool(_certificate_error(certificate)),
        unknown_usages=any(usage not in _USAGES for usage in usages),
        duplicate_usages=len(set(usages)) < len(usages),
    )


def _bytes(value: str) -> bytes:
    try:
        return base64.b64decode(value)
    except binascii.Error:
        return b""


def _csr_error(request: str) -> str:
    block = _PEM_BLOCK.search(_bytes(request))
    if block is None or block[1] != b"CERTIFICATE REQUEST":
        return "PEM block type must be CERTIFICATE REQUEST"
    from cryptography import x509

    try:
        parsed = x509.load_der_x509_csr(_bytes(block[2].decode("ascii", "replace")))
        signed = parsed.is_signature_valid
    except ValueError:
        return "asn1: structure error: tags don't match"
    return "" if signed else "crypto/rsa: verification error"


def _certificate_error(certificate: str) -> str:
    if not certificate:
        return ""
    blocks = list(_PEM_BLOCK.finditer(_bytes(certificate)))
    if not blocks:
        return "must contain at least one CERTIFICATE PEM block"
    from cryptography import x509

    for block in blocks:
        if block[1] != b"CERTIFICATE":
            found = quote(block[1].decode("utf-8", "replace"))
            return f"only CERTIFICATE PEM blocks are allowed, found {found}"
        if b":" in block[2]:
            return "no PEM block headers are permitted"
        try:
            x509.load_der_x509_certificate(_bytes(block[2].decode("ascii", "replace")))
        except ValueError:
            return "x509: malformed certificate"
    return ""


def _request_errors(obj: Object, may: _May) -> list[FieldError]:
    spec, status = obj.get("spec") or {}, obj.get("status") or {}
    errors: list[FieldError] = []
    request, usages = spec.get("request") or "", spec.get("usages") or []
    why = _csr_error(request)
    if why:
        errors.append(invalid("spec.request", request, why))
    if not usages:
        errors.append(required("spec.usages"))
    if not may.unknown_usages:
        for position, usage in enumerate(usages):
            if usage not in _USAGES:
                errors.append(not_supported(index("spec.usages", position), usage, _USAGES))
    if not may.duplicate_usages:
        for position, usage in enumerate(usages):
            if usage in usages[:position]:
                errors.append(duplicate(index("spec.usages", position), usage))
    signer = spec.get("signerName") or ""
    if signer == _LEGACY_SIGNER and not may.legacy_signer:
        text = "the legacy signerName is not allowed via this API version"
        errors.append(invalid("spec.signerName", signer, text))
    else:
        errors += signer_name_errors("spec.signerName", signer)
    seconds = spec.get("expirationSeconds")
    if seconds is not None and seconds < _EXPIRATION_S_MIN:
        text = "may not specify a duration less than 600 seconds (10 minutes)"
        errors.append(invalid("spec.expirationSeconds", seconds, text))
    errors += _condition_errors(status.get("conditions") or [], may)
    if not may.any_certificate:
        why = _certificate_error(status.get("certificate") or "")
        if why:
            errors.append(invalid("status.certificate", "<certificate data>", why))
    return errors


def _condition_errors(conditions: list[Object], may: _May) -> list[FieldError]:
    path = "status.conditions"
    errors: list[FieldError] = []
    seen: list[str] = []
    for position, condition in enumerate(conditions):
        condition_path = index(path, position)
        kind, value = condition.get("type") or "", condition.get("status") or ""
        if not kind and not may.untyped_conditions:
            errors.append(required(f"{condition_path}.type"))
        allowed = ("True",) if kind in _FINAL else ("False", "True", "Unknown")
        if not value:
            errors.append(required(f"{condition_path}.status"))
        elif value not in allowed:
            errors.append(not_supported(f"{condition_path}.status", value, allowed))
        other = {"Approved": "Denied", "Denied": "Approved"}.get(kind)
        if other in seen and not may.both_decisions:
            text = "Approved and Denied conditions are mutually exclusive"
            errors.append(invalid(path, kind, text))
        if kind in seen and not may.duplicate_conditions:
            errors.append(duplicate(f"{condition_path}.type", kind))
        seen.append(kind)
    return errors


def _update_errors(obj: Object, old: Object, may: _May) -> list[FieldError]:
    errors = _request_errors(obj, may)
    status, old_status, path = obj.get("status") or {}, old.get("status") or {}, "status.conditions"
    for kind in _FINAL:
        if len(_of_type(status, kind)) < len(_of_type(old_status, kind)):
            text = f"updates may not remove a condition of type {quote(kind)}"
            errors.append(forbidden(path, text))
    for kind in () if may.decide else _DECISIONS:
        now, before = (
            [each["conditions"][position] for position in _of_type(each, kind)] for each in (status, old_status)
        )
        if len(now) > len(before):
            errors.append(forbidden(path, f"updates may not add a condition of type {quote(kind)}"))
        elif len(now) == len(before) and not equal(now, before):
            errors.append(forbidden(path, f"updates may not modify a condition of type {quote(kind)}"))
    certificate, old_certificate = status.get("certificate") or "", old_status.get("certificate") or ""
    if certificate != old_certificate:
        if not may.certify:
            errors.append(forbidden("status.certificate", "updates may not set certificate content"))
        elif old_certificate:
            text = "updates may not modify existing certificate content"
            errors.append(forbidden("status.certificate", text))
    return errors
