"""Controllers, scheduler and kubelets of a cluster: each a task with a name, to be stopped, started and doubled.

    components = Components(plane, nodes=["node-1", "node-2"])
    await components.start()                            # everything there is
    await components.stop("deployment-controller")      # one of them, or a group: controllers, scheduler, kubelets
    await components.start("deployment-controller")     # a new one, as after a restart of its process
    await components.start(components.duplicate("kube-scheduler"))
    await components.stop()

What crashes is logged with its name and started anew after a second of cluster time. A component is made by
`Controller(context)`, `Scheduler(context)` or `Kubelet(context, node_name)`, and has an `async def run()` that
works until it is cancelled.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final, Protocol

from clusters.emulated.apiserver.request import UserInfo
from clusters.emulated.client import identities
from clusters.emulated.client.api import Api
from clusters.emulated.client.authority import Authority
from clusters.emulated.client.controller import ComponentContext, Controller
from clusters.emulated.client.informers import InformerFactory
from clusters.emulated.client.metrics import ControlledMetrics
from clusters.emulated.component_hosts import ComponentHost, EmulatedHost
from clusters.emulated.control_plane import ControlPlane

if TYPE_CHECKING:
    from clusters.emulated.kubelet.nodes import Nodes

log = logging.getLogger(__name__)

RESTART_S: Final = 1.0
CONTROLLERS, SCHEDULER, KUBELETS = "controllers", "scheduler", "kubelets"
GROUPS: Final = (CONTROLLERS, SCHEDULER, KUBELETS)


class Component(Protocol):
    async def run(self) -> None: ...


class UnknownComponentError(Exception):
    """There is no such component here; the message names those there are."""


#: Makes a component; what it began outside of its `run` is ended by the stack.
Make = Callable[[AsyncExitStack], Component]


@dataclass(slots=True)
class _Entry:
    group: str
    make: Make
    #: Makes another one of the same kind, under another name.
    another: Callable[[str], Make] | None = None
    task: asyncio.Task[None] | None = None
    component: Component | None = None
    crashes: int = 0


class Components:
    """All methods belong to the loop's thread."""

    def __init__(
        self, plane: ControlPlane | ComponentHost, nodes: Sequence[str] = (), groups: Sequence[str] = GROUPS
    ) -> None:
        """`groups` are those to have in the first place; `add` makes further components known."""
        self._host: ComponentHost = EmulatedHost(plane) if isinstance(plane, ControlPlane) else plane
        self._entries: dict[str, _Entry] = {}
        #: How often each name was made: a restart is no replay of the chances that the one before had.
        self._made: dict[str, int] = {}
        #: What the autoscaler is told about the use of resources, before it asks the metrics APIs.
        self.metrics = ControlledMetrics()
        #: The controllers are one process, kube-controller-manager, and share their informers.
        self._shared: InformerFactory | None = None
        self._nodes: Nodes | None = None
        if CONTROLLERS in groups:
            self._add_controllers()
        if SCHEDULER in groups:
            self._add_scheduler()
        if KUBELETS in groups and nodes:
            self._add_kubelets(nodes)

    # What there is

    def __iter__(self) -> Iterator[str]:
        return iter(self._entries)

    def __getitem__(self, name: str) -> Component | None:
        """The running component of this name; None while it is stopped or restarting."""
        return self._entry(name).component

    def is_running(self, name: str) -> bool:
        return self._entry(name).task is not None

    def crashes(self, name: str) -> int:
        return self._entry(name).crashes

    def busy(self) -> list[str]:
        """Controllers that have something queued or in hand at this instant."""
        return [
            name
            for name, entry in self._entries.items()
            if isinstance(entry.component, Controller) and not entry.component.queue.idle
        ]

    def add(self, name: str, group: str, make: Make) -> None:
        """Makes a component known, stopped."""
        assert name not in (*self._entries, *GROUPS), f"there is a component {name} already"
        self._entries[name] = _Entry(group, make)

    def duplicate(self, name: str) -> str:
        """Makes a second one of the same kind and identity known, stopped, as by a mistake; returns its name."""
        entry = self._entry(name)
        number = 2
        while (other := f"{name}#{number}") in self._entries:
            number += 1
        make = entry.make if entry.another is None else entry.another(other)
        self._entries[other] = _Entry(entry.group, make, entry.another)
        return other

    # Life

    async def start(self, name: str = "") -> None:
        """Starts a component, a group or everything; what runs already is left alone."""
        loop = asyncio.get_running_loop()
        for each, entry in self._named(name):
            if entry.task is None:
                entry.task = loop.create_task(self._keep_running(each, entry), name=each)

    async def stop(self, name: str = "") -> None:
        """Ends a component, a group or everything, as by a kill: nothing is finished first."""
        tasks = []
        for _, entry in self._named(name):
            if entry.task is not None:
                entry.task.cancel()
                tasks.append(entry.task)
                entry.task = None
        await asyncio.gather(*tasks, return_exceptions=True)
        if self._shared is not None and not any(
            entry.task is not None and entry.group == CONTROLLERS for entry in self._entries.values()
        ):
            shared, self._shared = self._shared, None
            await shared.stop()

    async def _keep_running(self, name: str, entry: _Entry) -> None:
        while True:
            async with AsyncExitStack() as ends:
                try:
                    entry.component = entry.make(ends)
                    await entry.component.run()
                    log.error("%s ended by itself; it starts again in %g s", name, RESTART_S)
                except Exception:
                    log.exception("%s crashed; it starts again in %g s", name, RESTART_S)
                finally:
                    entry.component = None
            entry.crashes += 1
            await self._host.clock.sleep(RESTART_S)

    def _entry(self, name: str) -> _Entry:
        found = self._entries.get(name)
        if found is None:
            raise UnknownComponentError(f"no component {name!r}; there are {', '.join(self._entries) or 'none'}")
        return found

    def _named(self, name: str) -> list[tuple[str, _Entry]]:
        if not name:
            return [*self._entries.items()]
        if name in GROUPS:
            return [(each, entry) for each, entry in self._entries.items() if entry.group == name]
        return [(name, self._entry(name))]

    # Making them

    def _api(self, user: UserInfo, binary: str, purpose: str = "") -> Api:
        return self._host.connect(user, identities.user_agent(binary, self._host.version, purpose))

    def _context(
        self,
        name: str,
        api: Api,
        informers: InformerFactory | None = None,
        authority: Authority | None = None,
    ) -> ComponentContext:
        made = self._made[name] = self._made.get(name, 0) + 1
        clock, randomness = self._host.clock, self._host.randomness.derived(f"{name}/{made}")
        informers = informers or InformerFactory(api, clock, randomness)
        return ComponentContext(api, clock, randomness, informers, authority, self.metrics)

    def _shared_informers(self) -> InformerFactory:
        if self._shared is None:
            api = self._api(identities.CONTROLLER_MANAGER, "kube-controller-manager", "shared-informers")
            randomness = self._host.randomness.derived("shared-informers")
            self._shared = InformerFactory(api, self._host.clock, randomness)
        return self._shared

    def _add_controllers(self) -> None:
        for kind in _found("controllers", "CONTROLLERS") or ():
            self.add_controller(kind)

    def add_controller(self, kind: type[Controller]) -> None:
        """Makes a controller known, stopped, with the identity of its service account."""

        def named(name: str) -> Make:
            def make(_: AsyncExitStack) -> Component:
                account = identities.controller(kind.service_account or kind.name)
                user = identities.CONTROLLER_MANAGER if kind.as_manager else account
                api = self._api(user, "kube-controller-manager", user.name)
                return kind(self._context(name, api, self._shared_informers().scope(), self._host.authority))

            return make

        self._add(kind.name, CONTROLLERS, named)

    def _add_scheduler(self) -> None:
        kind = _found("scheduler", "Scheduler")
        if kind is not None:
            self._add("kube-scheduler", SCHEDULER, self._alone(kind, identities.SCHEDULER, "kube-scheduler"))

    def _add_kubelets(self, names: Sequence[str]) -> None:
        nodes = self.nodes
        self._host.attach(nodes)
        for name in names:
            self._add(f"kubelet/{name}", KUBELETS, self._alone(nodes.kubelet, identities.node(name), "kubelet", name))

    @property
    def nodes(self) -> Nodes:
        """The machines below the kubelets; they go on when those stop."""
        if self._nodes is None:
            from clusters.emulated.kubelet.nodes import Nodes

            self._nodes = Nodes(self._host.clock, self._host.randomness.derived("nodes"), self._host.version)
        return self._nodes

    def _alone(self, kind: Any, user: UserInfo, binary: str, *arguments: str) -> Callable[[str], Make]:
        """A process of its own, with its own informers."""

        def named(name: str) -> Make:
            def make(ends: AsyncExitStack) -> Component:
                context = self._context(name, self._api(user, binary))
                ends.push_async_callback(context.informers.stop)
                made: Component = kind(context, *arguments)
                return made

            return make

        return named

    def _add(self, name: str, group: str, named: Callable[[str], Make]) -> None:
        self.add(name, group, named(name))
        self._entries[name].another = named


def _found(package: str, attribute: str) -> Any:
    """What a package of components offers; None, and a note in the log, while it offers nothing."""
    name = f"{__package__}.{package}"
    try:
        module = import_module(name)
    except ModuleNotFoundError as error:
        if error.name != name:
            raise
        module = None
    found = getattr(module, attribute, None)
    if found is None:
        log.info("this build has no %s.%s: a cluster starts without", name, attribute)
    return found
