"""Rules that are imported when they are first asked: a cluster starts long before most kinds are used."""

from __future__ import annotations

from importlib import import_module
from typing import Any, cast

from clusters.emulated.apiserver.validation.rules import KindRules


class _DeferredRules:
    """Stands for the one instance of a rules class. `group` and `kind` are known at once; anything else imports
    the class, and is then kept here, so that later calls cost nothing extra."""

    def __init__(self, group: str, kind: str, module: str) -> None:
        self.group = group
        self.kind = kind
        self._module = module

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        rules = self.__dict__.get("_rules")
        if rules is None:
            package = __name__.rpartition(".")[0]
            rules = getattr(import_module(f"{package}.{self._module}"), f"{self.kind}Rules")()
            assert (rules.group, rules.kind) == (self.group, self.kind)
            self.__dict__["_rules"] = rules
        value = getattr(rules, name)
        self.__dict__[name] = value
        return value


def deferred(group: str, kind: str, module: str) -> KindRules:
    """The rules of `kind`: `<kind>Rules` in `module` of this package."""
    return cast(KindRules, _DeferredRules(group, kind, module))
