"""Which partition of `__consumer_offsets` a group lives in (GroupCoordinatorService.partitionFor), and of how many partitions.

abs(String.hashCode) % partitions, with abs(Integer.MIN_VALUE) = 0; the hash runs over UTF-16 code units. The sign bit
is not masked away: that would place every group with a negative hash elsewhere.
"""

import struct
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from itertools import islice
from typing import Final, NamedTuple

from offsets_tool.errors import UsageError
from offsets_tool.wire.text import java_text

DEFAULT_PARTITIONS = 50
"""offsets.topic.num.partitions, unless the cluster says otherwise."""

MOST_PARTITIONS: Final = 1_000
"""Numbers of partitions up to this one are tried."""
_NAMED: Final = 3
"""Numbers that are named where several are as likely."""
_TELLING: Final = 7
"""Groups of which it is less than one in a hundred that they fit twice their number of partitions by chance."""
_ENOUGH: Final = 1_000
"""Groups that leave no doubt; an own hash for each of a million would take long."""


def java_hash(text: str) -> int:
    """Return java.lang.String.hashCode of a text: 31 * h + unit over its UTF-16 units, wrapping as a Java int."""
    units = java_text(text).encode("utf-16-be", "surrogatepass")
    value = 0
    for (unit,) in struct.iter_unpack(">H", units):
        value = (31 * value + unit) & 0xFFFFFFFF
    return value - 0x100000000 if value > 0x7FFFFFFF else value


def partition_for(group: str, partitions: int = DEFAULT_PARTITIONS) -> int:
    """Return the log partition of a group in a topic of `partitions` partitions; UsageError unless that is a positive number.

    >>> partition_for("testgroup"), partition_for("test-group")
    (27, 12)
    """
    if partitions < 1:
        raise UsageError(f"a topic cannot have {partitions} partitions: give --partitions a positive number")
    return _partition_of_hash(java_hash(group), partitions)


def _partition_of_hash(value: int, partitions: int) -> int:
    return 0 if value == -0x80000000 else abs(value) % partitions


class Homes(NamedTuple):
    """The log partition of a group, by each likely number of partitions."""

    of: Mapping[int, int]
    shown_by: str
    """How the numbers are known, as a clause."""


def shown_by(groups: int) -> str:
    """Return a clause that says how a number of partitions is known that `groups` groups fit."""
    return "the group here shows the number" if groups == 1 else "the groups here show the number"


def find_homes(group: str, fitting: tuple[int, ...], groups: int) -> Homes:
    """Return a group's log partition by each likely number of partitions, given the numbers that fit `groups` other groups."""
    counts, clause = _counts_to_name(fitting, groups)
    return Homes({count: partition_for(group, count) for count in counts}, clause)


def _counts_to_name(fitting: tuple[int, ...], groups: int) -> tuple[tuple[int, ...], str]:
    likely, usual = likely_counts(fitting, groups), DEFAULT_PARTITIONS
    if len(likely) == 1:
        return likely, shown_by(groups)
    if not fitting:
        here = "the group here fits" if groups == 1 else "the groups here fit"
        return (usual,), f"{usual} is the default; {here} no number"
    if usual in fitting:
        fits = "the group here fits, as it does" if groups == 1 else "the groups here fit, as they do"
        return (usual,), f"{usual} is the default, which {fits} other numbers"
    others = f" from {len(likely) - _NAMED} other(s)" if len(likely) > _NAMED else " apart"
    tell = "the group here does not" if groups == 1 else "the groups here do not"
    return likely[:_NAMED], f"{tell} tell these numbers{others}"


def likely_counts(fitting: tuple[int, ...], groups: int) -> tuple[int, ...]:
    """Return the fitting numbers that divide no greater fitting number: where that one fits, its divisors fit too.

    Where there are few `groups`, which may fit the greater number by chance, return all.
    """
    if groups < _TELLING:
        return fitting
    return tuple(count for count in fitting if not any(more % count == 0 for more in fitting if more > count))


def homes_of_moved(places: Collection[tuple[str, int]], highest: int = 0) -> dict[str, int | None]:
    """Return of each group that lies in several log partitions the one where its coordinator looks for it now.

    Each group has one coordinator, and partitions are never taken away: two places prove that the topic was given more partitions,
    or that files are misnamed. The number of partitions is one under which every group belongs to a place of its own; None where
    several fit that do not agree. `highest` is the highest log partition that was seen at all.

    >>> homes_of_moved([("testgroup", 3), ("testgroup", 27), ("test-group", 12), ("orders", 41)], 41)
    {'testgroup': 27}
    """
    places_of = defaultdict[str, set[int]](set)
    for group, place in places:
        places_of[group].add(place)
    moved = [group for group, of_group in places_of.items() if len(of_group) > 1]
    if not moved:
        return {}
    most = min(max(MOST_PARTITIONS, 2 * highest), MOST_PARTITIONS * 10)
    counts: Iterable[int] = range(highest + 1, most + 1)
    # Those that moved tell most, and sorting keeps the order of the others.
    telling = sorted(places_of, key=lambda group: len(places_of[group]) == 1)
    for group in telling[:_ENOUGH]:
        value, of_group = java_hash(group), places_of[group]
        counts = [count for count in counts if _partition_of_hash(value, count) in of_group]
    likely = likely_counts(tuple(counts), len(places_of))
    homes = {group: {partition_for(group, count) for count in likely} for group in moved}
    return {group: next(iter(numbers)) if len(numbers) == 1 else None for group, numbers in homes.items()}


def homes_by_commits(
    newest: Mapping[tuple[str, int], int], unread: Collection[tuple[str, int]]
) -> dict[str, int | None]:
    """Return of each group that lies in several log partitions the one in which it lives now; None where nothing tells.

    `newest` has the time of the newest commit by group and log partition, below 0 where it has none; `unread` has those with
    commits that were not understood. The number of partitions that the groups show tells; where they show none, the newest commit
    does, unless another log partition has commits that were not understood: these may be newer.

    >>> homes_by_commits({("g", 3): 1_000, ("g", 4): 2_000}, [])
    {'g': 4}
    """
    homes = homes_of_moved(newest.keys(), max((place for _, place in newest), default=0))
    undecided: dict[str, list[tuple[int, int]]] = {group: [] for group, home in homes.items() if home is None}
    for (group, log_partition), newest_at in newest.items():
        if group in undecided:
            undecided[group].append((newest_at, log_partition))
    for group, of_group in undecided.items():
        latest, *others = sorted(of_group, reverse=True)
        is_told = latest[0] > others[0][0] and not any((group, number) in unread for _, number in others)
        homes[group] = latest[1] if is_told else None
    return homes


def infer_partitions(places: Iterable[tuple[str, int]], highest: int = 0) -> tuple[int, ...]:
    """Return each number of partitions, in order, under which every group belongs to the log partition where it was found.

    `places` are groups with their log partitions, of which a thousand are looked at; `highest` is the highest log partition that
    was seen at all. Nothing fits where files lie under a number that is not theirs, or the topic was given more partitions.
    """
    most = min(max(MOST_PARTITIONS, 2 * highest), MOST_PARTITIONS * 10)
    fitting: Iterable[int] = range(highest + 1, most + 1)
    for group, place in islice(places, _ENOUGH):
        value = java_hash(group)
        fitting = [count for count in fitting if place < count and _partition_of_hash(value, count) == place]
    return tuple(fitting)


def infer_mostly(places: Collection[tuple[str, int]], share: float, highest: int = 0) -> int | None:
    """Return the number of partitions that most groups fit, if at least this `share` of them does; the least one of several.

    `places` and `highest` are as of `infer_partitions`, but all groups are looked at.
    """
    hashes = [(java_hash(group), place) for group, place in places]
    least = share * len(hashes)
    # One more than too many, whichever way the product was rounded.
    most_misfits = int(len(hashes) - least) + 2

    def misfits(count: int) -> int:
        """Return how many groups belong elsewhere: of a number that is not theirs the first few of them show it."""
        others = (value for value, place in hashes if _partition_of_hash(value, count) != place)
        return sum(1 for _ in islice(others, most_misfits))

    count = min(range(highest + 1, MOST_PARTITIONS + 1), key=misfits, default=None)
    return count if count is not None and len(hashes) - misfits(count) >= least else None
