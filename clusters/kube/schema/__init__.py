"""The shapes of the built-in kinds: which fields there are, in Kubernetes' order and with its Go types.

`Catalogue` reads the shapes of one Kubernetes version; `decode` checks JSON against them and says what
Go's decoder would say; `shape` writes an object the way Go's encoder would (order, zero values).
"""

from clusters.kube.schema.catalogue import Catalogue
from clusters.kube.schema.decode import DecodeError, decode
from clusters.kube.schema.model import Field, ListType, MapType, Scalar, Struct, Type
from clusters.kube.schema.shape import shape

__all__ = [
    "Catalogue", "DecodeError", "Field", "ListType", "MapType", "Scalar", "Struct", "Type", "decode", "shape",
]  # fmt: skip
