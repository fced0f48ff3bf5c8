"""How many partitions moved, and the fewest that had to: against every way in which the same members could hold as many."""

import random
from itertools import permutations

import pytest

from offsets_tool.rebalances.row_builder import Moves, moves_of
from tests.depth import DEEP


def fewest(old: dict[str, str], new: dict[str, str], asks: dict[str, set[str]]) -> int:
    """The fewest moves of all ways to hand out the partitions so that each member has as many, of topics that it asks for."""
    ways = set(permutations(new.values()))
    allowed = [
        way for way in ways if all(name[0] in asks[member] for name, member in zip(new, way, strict=True))
    ]
    return min(
        sum(old.get(name, member) != member for name, member in zip(new, way, strict=True)) for way in allowed
    )


@pytest.mark.parametrize("seed", range(4_000 if DEEP else 100))
def test_no_other_way_moves_fewer(seed: int) -> None:
    some = random.Random(seed)
    members = [f"m{number}" for number in range(some.randint(1, 4))]
    asks = {member: {topic for topic in "abc" if some.random() < 0.7} for member in members}
    names = [f"{topic}-{number}" for topic in "abc" for number in range(some.randint(1, 2))]
    takers = {topic: frozenset(member for member in members if topic in asks[member]) for topic in "abc"}
    new = {name: some.choice(sorted(takers[name[0]])) for name in names if takers[name[0]]}
    old = {name: some.choice([*members, "gone"]) for name in names if some.random() < 0.85}
    found = moves_of(old, new, lambda name: takers[name[0]])
    assert found.moved == sum(old.get(name, member) != member for name, member in new.items())
    assert found.least == (fewest(old, new, asks) if new else 0)


EVERYONE = frozenset({"a", "b", "c"})
CASES = [
    ("nothing was there before", {}, "ab", Moves(0, 0)),
    ("nothing moved", "aab", "aab", Moves(0, 0)),
    ("a third member takes its share", "aaabbb", "aabbcc", Moves(3, 2)),
    ("a member left", "aabbcc", "aaabbb", Moves(3, 2)),
    ("two changed places", "ab", "ba", Moves(2, 0)),
    ("a new partition moves nothing", "ab", "abb", Moves(0, 0)),
]
"""Owners of the partitions 0, 1, ... before and after, and the moves."""


@pytest.mark.parametrize(("what", "before", "after", "moves"), CASES, ids=[case[0] for case in CASES])
def test_moves(what: str, before: str, after: str, moves: Moves) -> None:
    old, new = ({str(number): owner for number, owner in enumerate(owners)} for owners in (before, after))
    assert moves_of(old, new, lambda name: EVERYONE) == moves


def test_a_topic_that_one_asks_for_pushes_others_out() -> None:
    """b-0 can only go to m1, which is to have one partition: a-0 has to move."""
    takers = {"a": frozenset({"m1", "m2"}), "b": frozenset({"m1"})}
    new = {"a-0": "m2", "b-0": "m1"}
    assert moves_of({"a-0": "m1"}, new, lambda name: takers[name[0]]) == Moves(1, 1)
