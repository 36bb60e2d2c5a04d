"""The audit log: who did what, when, and what came of it, as lines of JSON (audit.k8s.io/v1 Events)."""

from clusters.emulated.apiserver.audit.log import AuditLog
from clusters.emulated.apiserver.audit.policy import AuditPolicy

__all__ = ["AuditLog", "AuditPolicy"]
