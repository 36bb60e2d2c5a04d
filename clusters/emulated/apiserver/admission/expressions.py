"""CEL in admission: the variables expressions see, compiling them once, evaluating them for a request.

`authorizer` checks may have to wait (an authorization webhook), while CEL evaluates in one go: an
unanswered question stops the evaluation, is asked, and the expression is evaluated again with the answer.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

from clusters.emulated.apiserver.admission.attributes import Attributes
from clusters.emulated.apiserver.admission.authorizing import Authorize
from clusters.emulated.apiserver.admission.matching import Resource, namespace_of
from clusters.emulated.apiserver.admission.review import admission_request
from clusters.emulated.apiserver.admission.shapes import Object, Versioned
from clusters.emulated.apiserver.request import UserInfo

if TYPE_CHECKING:
    # CEL is big: only clusters that use policies or matchConditions load it.
    from clusters.kube.cel import Budget, Environment, Program, Type

COST_BUDGET = 10_000_000
MATCH_CONDITIONS_COST_BUDGET = 2_500_000
_OUT_OF_BUDGET = "validation failed due to running out of cost budget, no further validation rules will be run"
# Each question can be asked once; more in one expression than this is a loop over data.
_QUESTIONS_MAX = 1000


class BudgetSpentError(Exception):
    """The expressions of one request cost too much together; the rest is not evaluated."""

    def __init__(self) -> None:
        super().__init__(_OUT_OF_BUDGET)


class _Unanswered(BaseException):
    """Leaves an evaluation, past CEL's own error handling, to ask the authorizer."""

    def __init__(self, question: Any) -> None:
        self.question = question


@cache
def environment(*, params: bool, authorizer: bool, patch_types: bool = False) -> Environment:
    """What expressions of webhooks and policies may name."""
    from clusters.kube import cel
    from clusters.kube.cel import types as t

    def fields(**declared: Type) -> dict[str, tuple[Type, str]]:
        return {name: (kind, name) for name, kind in declared.items()}

    text, strings = cel.STRING, cel.list_of(cel.STRING)
    kind = t.struct("kubernetes.GroupVersionKind", fields(group=text, version=text, kind=text))
    resource = t.struct("kubernetes.GroupVersionResource", fields(group=text, version=text, resource=text))
    extra = cel.map_of(text, strings)
    user = t.struct("kubernetes.UserInfo", fields(username=text, uid=text, groups=strings, extra=extra))
    request = t.struct(
        "kubernetes.AdmissionRequest",
        fields(
            kind=kind, resource=resource, subResource=text, requestKind=kind, requestResource=resource,
            requestSubResource=text, name=text, namespace=text, operation=text, userInfo=user,
            dryRun=cel.BOOL, options=cel.DYN,
        ),
    )  # fmt: skip
    labels = cel.map_of(text, text)
    metadata = t.struct(
        "kubernetes.NamespaceMetadata",
        fields(
            name=text, generateName=text, namespace=text, labels=labels, annotations=labels, UID=text,
            creationTimestamp=cel.TIMESTAMP, deletionGracePeriodSeconds=cel.INT, deletionTimestamp=cel.TIMESTAMP,
            generation=cel.INT, resourceVersion=text, finalizers=strings,
        ),
    )  # fmt: skip
    condition = t.struct(
        "kubernetes.NamespaceCondition",
        fields(status=text, type=text, lastTransitionTime=cel.TIMESTAMP, message=text, reason=text),
    )
    namespace = t.struct(
        "kubernetes.Namespace",
        fields(
            metadata=metadata,
            spec=t.struct("kubernetes.NamespaceSpec", fields(finalizers=strings)),
            status=t.struct("kubernetes.NamespaceStatus", fields(conditions=cel.list_of(condition), phase=text)),
        ),
    )
    variables: dict[str, Type] = {
        "object": cel.DYN,
        "oldObject": cel.DYN,
        "namespaceObject": namespace,
        "request": request,
    }
    if params:
        variables["params"] = cel.DYN
    if authorizer:
        variables["authorizer"] = cel.AUTHORIZER
        variables["authorizer.requestResource"] = cel.RESOURCE_CHECK
    return cel.Environment(variables, patch_types=patch_types)


@dataclass(frozen=True, slots=True)
class Expression:
    """An expression that compiled, or why it did not."""

    text: str
    program: Program | None
    error: str = ""


def compile_expression(env: Environment, text: str, expect: Type | Sequence[Type]) -> Expression:
    from clusters.kube.cel import CompileError

    try:
        return Expression(text, env.compile(text, expect))
    except CompileError as error:
        return Expression(text, None, error.detail)


class Activation:
    """The values one request gives to the variables; answers of the authorizer are kept for all of them."""

    __slots__ = ("_answers", "_authorize", "_user", "bindings")

    def __init__(
        self,
        versioned: Versioned,
        resource: Resource,
        authorize: Authorize,
        *,
        params: Object | None = None,
        namespace: Object | None = None,
        answers: dict[Any, bool] | None = None,
    ) -> None:
        attributes = versioned.attributes
        self._authorize = authorize
        self._user = attributes.user
        self._answers: dict[Any, bool] = {} if answers is None else answers
        self.bindings: dict[str, Any] = {
            "object": versioned.new(resource),
            "oldObject": versioned.old(resource),
            "request": admission_request(attributes, resource),
            "namespaceObject": _exposed_namespace(namespace),
            "params": params,
        }
        self._bind_authorizer(attributes)

    def _bind_authorizer(self, attributes: Attributes) -> None:
        from clusters.kube.cel.library.authorizer import Authorizer

        # None stands for the request's own user, who need not be hashable.
        authorizer = Authorizer(None, self._answer)
        self.bindings["authorizer"] = authorizer
        self.bindings["authorizer.requestResource"] = authorizer.resource_check(
            attributes.group,
            attributes.resource,
            attributes.subresource,
            namespace_of(attributes),
            attributes.name,
        )

    def _answer(self, question: Any) -> tuple[str, str, str]:
        allowed = self._answers.get(question)
        if allowed is None:
            raise _Unanswered(question)
        return ("allow" if allowed else "noOpinion", "", "")

    async def _ask(self, question: Any) -> None:
        from clusters.kube.cel.library.authorizer import ServiceAccountUser

        user = self._user
        if isinstance(question.user, ServiceAccountUser):
            user = UserInfo(question.user.username, groups=question.user.groups)
        # A path has no resource; the authorizer takes it in the place of the name, as nonResourceURLs do.
        self._answers[question] = await self._authorize(
            user,
            question.verb,
            question.group,
            question.resource,
            question.subresource,
            question.namespace,
            question.name or question.path,
        )

    async def evaluate(self, expression: Expression, budget: Budget) -> tuple[Any, str]:
        """The value and an empty text, or why there is none. Raises BudgetSpentError."""
        from clusters.kube.cel import EvaluationError

        if expression.program is None:
            return None, f"compilation error: {expression.error}"
        for _ in range(_QUESTIONS_MAX):
            before = budget.remaining
            try:
                value, error = expression.program.evaluate(self.bindings, budget), ""
            except EvaluationError as problem:
                value, error = None, f"expression '{expression.text}' resulted in error: {problem}"
            except _Unanswered as unanswered:
                budget.remaining = before
                await self._ask(unanswered.question)
                continue
            if budget.exhausted:
                raise BudgetSpentError
            return value, error
        raise BudgetSpentError


def _exposed_namespace(namespace: Object | None) -> Object | None:
    if namespace is None:
        return None
    hidden = ("managedFields", "ownerReferences", "selfLink")
    metadata = namespace["metadata"]
    shown = {name: metadata[name] for name in metadata if name not in hidden}
    return {**namespace, "metadata": shown}


class Conditions:
    """matchConditions: all must hold. One that is false wins over errors; errors go by the failurePolicy."""

    __slots__ = ("_expressions", "_fails_closed")

    def __init__(self, env: Environment, conditions: Sequence[Mapping[str, Any]], failure_policy: str) -> None:
        from clusters.kube.cel import BOOL

        self._expressions = [compile_expression(env, each.get("expression", ""), BOOL) for each in conditions]
        self._fails_closed = failure_policy != "Ignore"

    async def hold(self, activation: Activation) -> bool:
        """Raises ConditionsError when an error decides and the policy is Fail."""
        from clusters.emulated.apiserver.admission.denial import joined
        from clusters.kube.cel import Budget

        budget = Budget(MATCH_CONDITIONS_COST_BUDGET)
        problems: list[str] = []
        is_false = False
        try:
            for expression in self._expressions:
                value, error = await activation.evaluate(expression, budget)
                if error:
                    problems.append(error)
                elif value is False:
                    is_false = True
        except BudgetSpentError as spent:
            is_false, problems = False, [str(spent)]
        if is_false:
            return False
        if problems:
            if self._fails_closed:
                raise ConditionsError(joined(problems))
            return False
        return True


class ConditionsError(Exception):
    """A matchCondition could not be evaluated; the text says why."""
