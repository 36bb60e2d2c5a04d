"""The function libraries of Kubernetes 1.36, one module each: ``FUNCTIONS`` tables of overloads.

``NAMES`` says which module has which function, so that only the modules an expression uses are imported.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from importlib import import_module

from clusters.kube.cel.declarations import Row

# In this order the overloads of a function are tried.
NAMES: Mapping[str, str] = {
    "standard": (
        "!_ -_ @in @not_strictly_false _!=_ _%_ _&&_ _*_ _+_ _-_ _/_ _<=_ _<_ _==_ _>=_ _>_ _?_:_ _[?_] _[_] "
        "_||_ bool bytes cel.@mapInsert contains double duration dyn endsWith first getDate getDayOfMonth "
        "getDayOfWeek getDayOfYear getFullYear getHours getMilliseconds getMinutes getMonth getSeconds "
        "hasValue int last matches optional.none optional.of optional.ofNonZeroValue optional.unwrap or "
        "orValue size startsWith string timestamp type uint unwrapOpt value"
    ),
    "urls": "getEscapedPath getHost getHostname getPort getQuery getScheme isURL url",
    "regexes": "find findAll",
    "lists": (
        "@sortByAssociatedKeys distinct flatten indexOf isSorted lastIndexOf lists.range max min reverse "
        "sets.contains sets.equivalent sets.intersects slice sort sum"
    ),
    "authorizer": (
        "allowed check error errored fieldSelector group labelSelector name namespace path reason resource "
        "serviceAccount subresource"
    ),
    "quantity": (
        "add asApproximateFloat asInteger compareTo isGreaterThan isInteger isLessThan isQuantity quantity sign sub"
    ),
    "strings": (
        "charAt format indexOf join lastIndexOf lowerAscii replace split strings.quote substring trim upperAscii"
    ),
    "network": (
        "cidr containsCIDR containsIP family ip ip.isCanonical isCIDR isGlobalUnicast isIP "
        "isLinkLocalMulticast isLinkLocalUnicast isLoopback isUnspecified masked prefixLength string"
    ),
    "formats": (
        "format.byte format.date format.datetime format.dns1035Label format.dns1035LabelPrefix "
        "format.dns1123Label format.dns1123LabelPrefix format.dns1123Subdomain format.dns1123SubdomainPrefix "
        "format.labelValue format.named format.qualifiedName format.uri format.uuid validate"
    ),
    "semver": "compareTo isGreaterThan isLessThan isSemver major minor patch semver",
}


@lru_cache(maxsize=1)
def index() -> Mapping[str, Sequence[str]]:
    """Function name -> the modules that have overloads of it."""
    found: dict[str, list[str]] = {}
    for module, names in NAMES.items():
        for name in names.split():
            found.setdefault(name, []).append(module)
    return found


def rows(name: str) -> list[Row]:
    """All overloads of a function; empty when there is no such function."""
    out: list[Row] = []
    for module in index().get(name, ()):
        functions: Mapping[str, Sequence[Row]] = import_module(f"{__name__}.{module}").FUNCTIONS
        out.extend(functions[name])
    return out
