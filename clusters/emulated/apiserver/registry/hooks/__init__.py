"""What a few resources do besides being stored. `contract` says what can be hooked; one file per family does it;
`every.hooks` puts them together."""

from clusters.emulated.apiserver.registry.hooks.contract import NO_HOOKS, Finish, Hooks, finish_nothing

__all__ = ["NO_HOOKS", "Finish", "Hooks", "finish_nothing"]
