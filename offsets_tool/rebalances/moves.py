"""Computes the fewest partitions that had to change hands in a rebalance, given who owned what and who may own what.

The result is the same for all: each member ends with as many partitions as it was given, and owns only topics that it may own. A
partition without an owner before does not move. The number is exact: a flow of least cost, by successive shortest paths.
"""

import itertools
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from typing import Final, NamedTuple

_FAR: Final = 1 << 30
"""More than any path costs."""
_MEMBER, _POOL = 0, 1
_Node = tuple[int, int]
"""A member or a pool, by its number."""


TakersOf = Callable[[str], frozenset[str]]
"""From a partition to the members that may hold it."""


class Moves(NamedTuple):
    """How many partitions another member owns than before, and how many of them had to move."""

    moved: int
    least: int


def moves_of(old: Mapping[str, str], new: Mapping[str, str], takers_of: TakersOf) -> Moves:
    """Return the moves from old owners to new ones, both by partition.

    A partition that only one of them has is no move. Whoever holds a partition in `new` may hold it, whatever `takers_of` says.
    """
    moved = sum(old.get(each, member) != member for each, member in new.items())
    if moved == (least := _least_of_any(old, new)):
        return Moves(moved, least)
    return Moves(moved, _least(old, new, takers_of))


def _least_of_any(old: Mapping[str, str], new: Mapping[str, str]) -> int:
    """Return the fewest moves if every member may own every partition: each keeps what it had, up to its new number."""
    capacity = Counter(new.values())
    owned = Counter(old[each] for each in new if each in old)
    return owned.total() - sum(min(count, capacity[member]) for member, count in owned.items())


def _least(old: Mapping[str, str], new: Mapping[str, str], takers_of: TakersOf) -> int:
    members = {member: number for number, member in enumerate(sorted(set(new.values())))}
    capacity = Counter(members[member] for member in new.values())
    pools: dict[frozenset[str], int] = {}
    supply: Counter[int] = Counter()
    owned: Counter[tuple[int, int]] = Counter()
    homeless = 0
    for each, holder in new.items():
        takers = takers_of(each)
        pool = pools.setdefault(takers if holder in takers else takers | {holder}, len(pools))
        owner = old.get(each)
        if owner in members and (owner in takers or owner == holder):
            owned[pool, members[owner]] += 1
        else:
            supply[pool] += 1
            homeless += owner is not None
    if len(pools) == 1:
        # Whoever holds one of them may hold each of them.
        return _least_of_any(old, new)
    takers_by_pool = [frozenset(members[each] for each in takers if each in members) for takers in pools]
    return homeless + _Flow(takers_by_pool, capacity, owned, supply).least()


class _Flow:
    """Partitions in pools, one for each set of members that may hold them; those that stay where they were cost nothing."""

    def __init__(
        self,
        takers: list[frozenset[int]],
        capacity: Mapping[int, int],
        owned: Mapping[tuple[int, int], int],
        supply: Mapping[int, int],
    ) -> None:
        """Start with each member keeping what it may, in any order; the other partitions are in their pools.

        `owned` counts partitions by pool and owner, `supply` those of each pool without an owner.
        """
        self._takers = takers
        self._free = dict(capacity)
        self._kept: Counter[tuple[int, int]] = Counter()
        self._left: Counter[tuple[int, int]] = Counter()
        self._given: Counter[tuple[int, int]] = Counter()
        self._supply: Counter[int] = Counter(supply)
        for (pool, owner), count in owned.items():
            kept = min(count, self._free[owner])
            self._free[owner] -= kept
            self._kept[pool, owner] = kept
            self._left[pool, owner] = count - kept
            self._supply[pool] += count - kept

    def least(self) -> int:
        """Return how many partitions move at least, of those that had an owner who may still hold them."""
        for pool in range(len(self._takers)):
            while self._supply[pool]:
                self._augment(self._path(pool))
        return self._left.total()

    def _edges(self, node: _Node) -> Iterator[tuple[_Node, int]]:
        """Yield where one partition can go from a pool, or which pool one of a member can go back to; with what that costs."""
        kind, number = node
        if kind == _POOL:
            for member in self._takers[number]:
                yield (_MEMBER, member), -1 if self._left[number, member] else 0
            return
        for pool, takers in enumerate(self._takers):
            if number in takers and self._given[pool, number]:
                yield (_POOL, pool), 0
            elif self._kept[pool, number]:
                yield (_POOL, pool), 1

    def _path(self, pool: int) -> list[_Node]:
        """Return the cheapest way for a partition of a pool to a member that has room, along which others make room."""
        cost: dict[_Node, int] = {(_POOL, pool): 0}
        came: dict[_Node, _Node] = {}
        waiting = [(_POOL, pool)]
        while waiting:
            node = waiting.pop(0)
            for after, price in self._edges(node):
                if cost[node] + price < cost.get(after, _FAR):
                    cost[after], came[after] = cost[node] + price, node
                    if after not in waiting:
                        waiting.append(after)
        free = [node for node in cost if node[0] == _MEMBER and self._free[node[1]]]
        path = [min(free, key=cost.__getitem__)]
        while path[-1] != (_POOL, pool):
            path.append(came[path[-1]])
        return path[::-1]

    def _augment(self, path: list[_Node]) -> None:
        self._supply[path[0][1]] -= 1
        self._free[path[-1][1]] -= 1
        for (kind, number), (_, after) in itertools.pairwise(path):
            if kind == _POOL:
                self._take(number, after)
            else:
                self._give_back(after, number)

    def _take(self, pool: int, member: int) -> None:
        """Assign a partition of a pool to a member, if possible one that it had before."""
        if self._left[pool, member]:
            self._left[pool, member] -= 1
            self._kept[pool, member] += 1
        else:
            self._given[pool, member] += 1

    def _give_back(self, pool: int, member: int) -> None:
        if self._given[pool, member]:
            self._given[pool, member] -= 1
        else:
            self._kept[pool, member] -= 1
            self._left[pool, member] += 1
