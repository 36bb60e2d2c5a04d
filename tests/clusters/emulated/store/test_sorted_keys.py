"""SortedKeys against a plain sorted list, with copies taken along the way."""

from __future__ import annotations

import random

from clusters.emulated.store import prefix_end
from clusters.emulated.store.sorted_keys import SortedKeys


def test_it_agrees_with_a_sorted_list_and_copies_stay_apart() -> None:
    draw = random.Random(7)
    keys, model = SortedKeys(), set[str]()
    copies: list[tuple[SortedKeys, list[str]]] = []
    for step in range(20_000):
        key = f"/r/{draw.randrange(6000):04}"
        if key in model:
            model.discard(key)
            keys.remove(key)
        else:
            model.add(key)
            keys.add(key)
        if step % 4000 == 1000:
            copies.append((keys.copy(), sorted(model)))
            keys = copies[-1][0].copy() if draw.random() < 0.5 else keys
        if step % 500 == 0:
            low, high = sorted((f"/r/{draw.randrange(6000):04}", f"/r/{draw.randrange(6000):04}"))
            assert keys.between(low, high) == sorted(k for k in model if low <= k < high)
    assert list(keys) == sorted(model)
    assert len(keys) == len(model)
    for copy, expected in copies:
        assert list(copy) == expected


def test_a_prefix_ends_before_the_next_sibling() -> None:
    assert prefix_end("/registry/pods/") == "/registry/pods0"
    assert prefix_end("") == ""
    keys = SortedKeys(["/a", "/a/1", "/a/2", "/a0", "/b"])
    assert keys.between("/a/", prefix_end("/a/")) == ["/a/1", "/a/2"]
    assert keys.between("", prefix_end("")) == ["/a", "/a/1", "/a/2", "/a0", "/b"]
