"""Who the components are to the api-server, so that RBAC and the node authorizer treat them as the real ones."""

from __future__ import annotations

from typing import Final

from clusters.emulated.apiserver.request import UserInfo

_AUTHENTICATED: Final = "system:authenticated"

#: Whose watches feed the shared informers of kube-controller-manager.
CONTROLLER_MANAGER: Final = UserInfo("system:kube-controller-manager", groups=(_AUTHENTICATED,))
SCHEDULER: Final = UserInfo("system:kube-scheduler", groups=(_AUTHENTICATED,))


def service_account(namespace: str, name: str) -> UserInfo:
    groups = ("system:serviceaccounts", f"system:serviceaccounts:{namespace}", _AUTHENTICATED)
    return UserInfo(f"system:serviceaccount:{namespace}:{name}", groups=groups)


def controller(name: str) -> UserInfo:
    """`deployment-controller` is system:serviceaccount:kube-system:deployment-controller."""
    return service_account("kube-system", name)


def node(name: str) -> UserInfo:
    return UserInfo(f"system:node:{name}", groups=("system:nodes", _AUTHENTICATED))


def user_agent(binary: str, version: str, purpose: str = "") -> str:
    """Its first word is what managedFields name as the manager, e.g. `kube-controller-manager`."""
    agent = f"{binary}/{version} (linux/amd64) kubernetes/kaput"
    return f"{agent}/{purpose}" if purpose else agent
