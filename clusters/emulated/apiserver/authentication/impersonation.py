"""Impersonation: a user acts as another one, field by field, if allowed to.

v1.36 asks for constrained permissions first: may the requestor do *this request* while impersonating
(`impersonate-on:user-info:list` on pods), and may they impersonate this user in that mode
(`impersonate:user-info` on users)? Only when no constrained mode fits is the old `impersonate` verb asked for.
The refusal shown is that of the first mode that was tried.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING
from urllib.parse import unquote

from clusters.emulated.apiserver.authentication.outcome import ALL_AUTHENTICATED, ALL_UNAUTHENTICATED
from clusters.emulated.apiserver.authentication.service_account_names import group_names, split_username
from clusters.emulated.apiserver.authorization.attributes import Attributes, attributes_of, forbidden
from clusters.emulated.apiserver.authorization.chain import PRIVILEGED_GROUP, AuthorizerChain
from clusters.emulated.apiserver.authorization.node import NODE_PREFIX, NODES_GROUP
from clusters.emulated.apiserver.request import Request, UserInfo
from clusters.emulated.apiserver.validation.domainpath import domain_prefixed_path
from clusters.kube.errors import StatusError, bad_request
from clusters.kube.field import aggregate
from clusters.kube.gostring import quote
from clusters.kube.names import dns_subdomain

if TYPE_CHECKING:
    from clusters.emulated.apiserver.http import Headers

AUTHENTICATION_GROUP = "authentication.k8s.io"
NODE_NAME_EXTRA = "authentication.kubernetes.io/node-name"
ASSOCIATED_NODE_KEYS = "authentication.kubernetes.io/associated-node-keys"
_EXTRA_PREFIX = "impersonate-extra-"
# From so many groups or extras on, one question about all of them is tried first.
_MANY = 4
REQUESTORS_MAX = 10_000


def wanted_user(headers: Headers) -> UserInfo | None:
    """Whom the headers ask to be; None when they ask for nobody. Raises 400 for anything but a whole user."""
    name = headers.get("impersonate-user") or ""
    uid = headers.get("impersonate-uid") or ""
    groups: tuple[str, ...] = ()
    extra: dict[str, tuple[str, ...]] = {}
    for header, value in headers.items():
        if header == "impersonate-group":
            groups = (*groups, value)
        elif header.startswith(_EXTRA_PREFIX):
            key = unquote(header[len(_EXTRA_PREFIX) :])
            extra[key] = (*extra.get(key, ()), value)
    if name:
        return UserInfo(name, uid, groups, extra)
    if uid or groups or extra:
        user = UserInfo(name, uid, groups, extra)
        raise bad_request(f"requested {_go_syntax(user)} without impersonating a user name")
    return None


def _go_syntax(user: UserInfo) -> str:
    """The user as Go's `%#v` prints it."""

    def strings(values: tuple[str, ...]) -> str:
        return "[]string{" + ", ".join(quote(value) for value in values) + "}"

    groups = strings(user.groups) if user.groups else "[]string(nil)"
    extra = "map[string][]string(nil)"
    if user.extra:
        pairs = (f"{quote(key)}:{strings(user.extra[key])}" for key in sorted(user.extra))
        extra = "map[string][]string{" + ", ".join(pairs) + "}"
    return f"&user.DefaultInfo{{Name:{quote(user.name)}, UID:{quote(user.uid)}, Groups:{groups}, Extra:{extra}}}"


@dataclass(frozen=True, slots=True)
class _Mode:
    """One way to be allowed. `name` is empty for the old, unconstrained one."""

    name: str
    applies: Callable[[UserInfo, UserInfo], bool]

    @property
    def verb(self) -> str:
        return f"impersonate:{self.name}" if self.name else "impersonate"


def _only_name(user: UserInfo) -> bool:
    return not (user.uid or user.groups or user.extra)


def _node_name(user: str) -> str | None:
    name = user.removeprefix(NODE_PREFIX)
    return name if name != user and not dns_subdomain(name) else None


def _is_own_node(wanted: UserInfo, requestor: UserInfo) -> bool:
    """A ServiceAccount whose token says that it runs on the node."""
    node = _node_name(wanted.name)
    if node is None or not _only_name(wanted) or split_username(requestor.name) is None:
        return False
    return tuple(requestor.extra.get(NODE_NAME_EXTRA, ())) == (node,)


_MODES = (
    _Mode("associated-node", _is_own_node),
    _Mode("arbitrary-node", lambda wanted, _: _only_name(wanted) and _node_name(wanted.name) is not None),
    _Mode("serviceaccount", lambda wanted, _: _only_name(wanted) and split_username(wanted.name) is not None),
    _Mode(
        "user-info",
        lambda wanted, _: _node_name(wanted.name) is None and split_username(wanted.name) is None,
    ),
    _Mode("", lambda wanted, _: True),
)


class Impersonation:
    """The step between authentication and authorization."""

    def __init__(self, chain: AuthorizerChain) -> None:
        self._chain = chain
        # Which mode last worked for a requestor is tried first, and its refusal is then the one shown.
        self._last_mode: dict[str, _Mode] = {}

    async def apply(self, request: Request) -> None:
        """Replaces `request.user` when the headers ask for it; raises 403 or 400."""
        wanted = wanted_user(request.http.headers)
        if wanted is None:
            return
        asked = attributes_of(request)
        requestor = request.user
        last = self._last_mode.get(requestor.name)
        modes = _MODES if last is None else (last, *(mode for mode in _MODES if mode is not last))
        refusal: StatusError | None = None
        for mode in modes:
            if not mode.applies(wanted, requestor):
                continue
            try:
                user = await self._check(mode, wanted, asked)
            except StatusError as refused:
                refusal = refusal or refused
                continue
            if len(self._last_mode) >= REQUESTORS_MAX:
                self._last_mode.clear()
            self._last_mode[requestor.name] = mode
            request.impersonator = requestor
            request.user = user
            return
        assert refusal is not None, "the unconstrained mode applies to everybody"
        raise refusal

    async def _check(self, mode: _Mode, wanted: UserInfo, asked: Attributes) -> UserInfo:
        if mode.name == "associated-node":
            # The answer has to hold for the ServiceAccount on any of its nodes.
            keys = {ASSOCIATED_NODE_KEYS: tuple(sorted(asked.user.extra))}
            requestor = UserInfo(asked.user.name, asked.user.uid, asked.user.groups, keys)
            asked = replace(asked, user=requestor)
        if mode.name:
            await self._require(replace(asked, verb=f"impersonate-on:{mode.name}:{asked.verb}"))
        groups = await self._check_name(mode, wanted, asked.user)
        if wanted.uid:
            await self._require(_question(asked.user, mode, "uids", wanted.uid, AUTHENTICATION_GROUP))
        await self._check_groups(mode, wanted.groups, asked.user)
        await self._check_extra(mode, wanted.extra, asked.user)
        return UserInfo(wanted.name, wanted.uid, _with_everybody(wanted.name, groups), wanted.extra)

    async def _check_name(self, mode: _Mode, wanted: UserInfo, requestor: UserInfo) -> tuple[str, ...]:
        """Returns the groups that the impersonated user has."""
        question = _question(requestor, mode, "users", wanted.name, AUTHENTICATION_GROUP if mode.name else "")
        groups = wanted.groups
        node = _node_name(wanted.name) if mode.name else None
        account = split_username(wanted.name)
        if node is not None:
            question.resource, question.name = "nodes", node
            groups = (NODES_GROUP,)
            if mode.name == "associated-node":
                question.name = "*"
        elif account is not None:
            question.resource = "serviceaccounts"
            question.namespace, question.name = account
            groups = groups or group_names(account[0])
        await self._require(question)
        return groups

    async def _check_groups(self, mode: _Mode, groups: tuple[str, ...], requestor: UserInfo) -> None:
        if not groups:
            return
        question = _question(requestor, mode, "groups", "", AUTHENTICATION_GROUP if mode.name else "")
        if mode.name:
            if "" in groups:
                raise forbidden(question, "impersonating the empty string group is not allowed")
            if PRIVILEGED_GROUP in groups:
                question.name = PRIVILEGED_GROUP
                raise forbidden(question, "impersonating the system:masters group is not allowed")
            if len(groups) >= _MANY and await self._allows(replace(question, name="*")):
                return
        for group in groups:
            await self._require(replace(question, name=group))

    async def _check_extra(self, mode: _Mode, extra: Mapping[str, tuple[str, ...]], requestor: UserInfo) -> None:
        if not extra:
            return
        question = _question(requestor, mode, "userextras", "", AUTHENTICATION_GROUP)
        if mode.name:
            problem = _extra_problem(extra)
            if problem:
                raise forbidden(question, problem)
            many = sum(map(len, extra.values())) >= _MANY
            if many and await self._allows(replace(question, subresource="*", name="*")):
                return
        for key in sorted(extra):
            for value in extra[key]:
                await self._require(replace(question, subresource=key, name=value))

    async def _allows(self, attributes: Attributes) -> bool:
        return (await self._chain.authorize(attributes)).allowed

    async def _require(self, attributes: Attributes) -> None:
        verdict = await self._chain.authorize(attributes)
        if not verdict.allowed:
            texts = [text for text in (verdict.error, verdict.reason) if text]
            raise forbidden(attributes, ": ".join(texts))


def _question(requestor: UserInfo, mode: _Mode, resource: str, name: str, group: str) -> Attributes:
    return Attributes(requestor, mode.verb, group, "v1", resource, name=name)


def _extra_problem(extra: Mapping[str, tuple[str, ...]]) -> str:
    for key in sorted(extra):
        if not key:
            return "impersonating the empty string key in extra is not allowed"
        problems = domain_prefixed_path("extra.key", key)
        if problems:
            return f"impersonating an invalid key in extra is not allowed: {aggregate(problems)}"
        if key != key.lower():
            return f"impersonating a non-lowercase key in extra is not allowed: {quote(key)}"
        if "" in extra[key]:
            return "impersonating the empty string value in extra is not allowed"
    return ""


def _with_everybody(name: str, groups: tuple[str, ...]) -> tuple[str, ...]:
    if name == "system:anonymous":
        return groups if ALL_UNAUTHENTICATED in groups else (*groups, ALL_UNAUTHENTICATED)
    if ALL_UNAUTHENTICATED in groups or ALL_AUTHENTICATED in groups:
        return groups
    return (*groups, ALL_AUTHENTICATED)
