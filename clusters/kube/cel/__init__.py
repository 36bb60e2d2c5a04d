"""CEL as Kubernetes v1.36 uses it: cel-go's semantics, messages and costs, in pure Python.

    env = Environment({"object": DYN, "oldObject": DYN})
    program = env.compile("object.spec.replicas <= 5", expect=BOOL)
    program.evaluate({"object": deployment})             # True, or EvaluationError

Values are JSON as Python has it; nothing is copied.
"""

from clusters.kube.cel.environment import PER_CALL_LIMIT, Budget, Environment, Program
from clusters.kube.cel.errors import (
    CelError,
    CompileError,
    CostExceeded,
    EvaluationError,
    InstantiationError,
    ResultTypeError,
)
from clusters.kube.cel.types import (
    ANY,
    AUTHORIZER,
    BOOL,
    BYTES,
    DOUBLE,
    DURATION,
    DYN,
    INT,
    NULL,
    RESOURCE_CHECK,
    STRING,
    TIMESTAMP,
    UINT,
    Type,
    list_of,
    map_of,
    optional_of,
)

__all__ = [
    "ANY", "AUTHORIZER", "BOOL", "BYTES", "Budget", "CelError", "CompileError", "CostExceeded", "DOUBLE",
    "DURATION", "DYN", "Environment", "EvaluationError", "INT", "InstantiationError", "NULL", "PER_CALL_LIMIT",
    "Program", "RESOURCE_CHECK", "ResultTypeError", "STRING", "TIMESTAMP", "Type", "UINT", "list_of", "map_of",
    "optional_of",
]  # fmt: skip
