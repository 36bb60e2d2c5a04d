"""CEL as Kubernetes v1.36 uses it: cel-go's semantics, messages and costs, in pure Python.

    env = Environment({"object": DYN, "oldObject": DYN})
    program = env.compile("object.spec.replicas <= 5", expect=BOOL)
    program.evaluate({"object": deployment})             # True, or EvaluationError

Values are JSON as Python has it; nothing is copied. ``expect`` is a type, several, or ANY. A budget counts
the cost: ``budget = Budget(); program.evaluate(bindings, budget); budget.last``; a call that passes the
per-call limit raises CostExceeded.

Beside this module, imported when needed:

- ``policy``: ``environment(params=, authorizer=, patch_types=)`` of admission policies and match conditions,
  ``with_variables(env, {name: type})`` and ``LazyVariables({name: thunk})`` for composited variables.
- ``schema``: ``rule_environment(schema, root=, optional_old_self=)`` for x-kubernetes-validations (``self``,
  ``oldSelf``), ``from_schema(schema)`` for the type and the binding of one schema.
- ``estimates``: ``estimate_cost(program, from_schema(schema))`` and ``max_cardinality`` for admitting rules.
- ``library.authorizer``: ``Authorizer(user, authorize)``, bound to ``authorizer``; its ``resource_check(...)``
  is ``authorizer.requestResource``.
- ``library.mutation``: ``ObjectValue`` and ``JSONPatch`` results, ``plain``, ``type_name_errors``.
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
