"""The function libraries of Kubernetes 1.36, one module each: ``FUNCTIONS`` tables of overloads."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from clusters.kube.cel.declarations import Row


def tables() -> list[Mapping[str, Sequence[Row]]]:
    """All tables of the base environment; imported here so that declaring types costs nothing."""
    from clusters.kube.cel.library import (
        authorizer,
        formats,
        lists,
        network,
        quantity,
        regexes,
        semver,
        standard,
        strings,
        urls,
    )

    modules = (standard, urls, regexes, lists, authorizer, quantity, strings, network, formats, semver)
    return [module.FUNCTIONS for module in modules]
