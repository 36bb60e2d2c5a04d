"""What is wrong with a CEL expression of a webhook or a policy.

>>> errors = compile_errors("spec.x", "object.nope(1)", environment(params=False), BOOL)
>>> errors[0].detail.splitlines()[0]
"compilation failed: ERROR: <input>:1:12: undeclared reference to 'nope' (in container '')"
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

from clusters.kube.cel import BOOL, CompileError, Environment, InstantiationError, Type, policy
from clusters.kube.cel.policy import with_variables
from clusters.kube.field import FieldError, internal, invalid

__all__ = ["BOOL", "compile_errors", "environment", "with_variables"]


@cache
def environment(*, params: bool, authorizer: bool = True, patch_types: bool = False) -> Environment:
    """What the expression sees; variables of a policy come on top (`with_variables`)."""
    return policy.environment(params=params, authorizer=authorizer, patch_types=patch_types)


def compile_errors(
    path: str, text: str, env: Environment, expect: Type | Sequence[Type], shown: str | None = None
) -> list[FieldError]:
    """What stops `text` from being used; `shown` is how the error prints the expression."""
    try:
        env.compile(text, expect)
    except InstantiationError as error:
        return [internal(path, error.detail)]
    except CompileError as error:
        return [invalid(path, text if shown is None else shown, error.detail)]
    return []
