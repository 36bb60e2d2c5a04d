"""The rules of every built-in kind, by (group, kind)."""

from __future__ import annotations

from clusters.emulated.apiserver.validation.core_kinds import CORE_RULES
from clusters.emulated.apiserver.validation.group_kinds import GROUP_RULES
from clusters.emulated.apiserver.validation.rules import KindRules

RULES: dict[tuple[str, str], KindRules] = {(rules.group, rules.kind): rules for rules in (*CORE_RULES, *GROUP_RULES)}
