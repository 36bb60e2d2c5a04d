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
    "ANY",
    "AUTHORIZER",
    "BOOL",
    "BYTES",
    "DOUBLE",
    "DURATION",
    "DYN",
    "INT",
    "NULL",
    "PER_CALL_LIMIT",
    "RESOURCE_CHECK",
    "STRING",
    "TIMESTAMP",
    "UINT",
    "Budget",
    "CelError",
    "CompileError",
    "CostExceeded",
    "Environment",
    "EvaluationError",
    "InstantiationError",
    "Program",
    "ResultTypeError",
    "Type",
    "list_of",
    "map_of",
    "optional_of",
]  # fmt: skip
