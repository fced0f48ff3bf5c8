"""The whole topic of one cluster: groups that commit what they consume, each in the log partition where Kafka puts it."""

from collections import defaultdict
from random import Random
from typing import Final

from bench.generator.batches import Batch, Record, write_batches
from bench.generator.clients import CLIENTS, Group, groups
from bench.generator.members import ClassicGroup
from bench.generator.mixes import BEGIN, commits_of
from offsets_tool.placement import DEFAULT_PARTITIONS, partition_for

CLUSTER_GROUPS: Final = 40
_MOST_COMMITS: Final = 9
_PAUSE: Final = 250
"""A batch comes within so many milliseconds: each group commits about every five seconds, which is Kafka's default."""


def cluster_logs(random: Random, size: int, metadata: float = 0.0) -> list[bytes]:
    """Return a segment for each log partition of a cluster, in their order, of about `size` bytes together.

    `metadata` is the share of the bytes that are records of classic groups' metadata; log partitions without a group are empty.
    """
    known = groups(random, [CLIENTS["plain"]], CLUSTER_GROUPS)
    classic = {group.name: ClassicGroup(group.name, random, group.topics) for group in known}
    batches: dict[int, list[Batch]] = defaultdict(list)
    time, written, of_metadata = BEGIN, 0, 0
    while written < size:
        time += int(random.random() * _PAUSE)
        group = random.choice(known)
        is_metadata = of_metadata < metadata * written
        if is_metadata:
            [records] = classic[group.name].rebalance(time)
        else:
            records = group.commit(1 + int(random.random() * _MOST_COMMITS), time, random)
        batch = Batch(records, time)
        batches[partition_for(group.name)].append(batch)
        content = sum(map(_size, records))
        written += content
        of_metadata += content * is_metadata
    return [write_batches(batches[home], 2 * size) for home in range(DEFAULT_PARTITIONS)]


def spread_logs(random: Random, size: int) -> list[bytes]:
    """Return a segment for each log partition of a cluster that has CLUSTER_GROUPS groups in each, `size` bytes together."""
    homes = _homes(random)
    return [write_batches(commits_of(random, known), size // len(homes)) for known in homes]


def whole_log(random: Random, size: int) -> bytes:
    """Return a segment of `size` bytes with the groups of `spread_logs`, whose cluster has one log partition."""
    return write_batches(commits_of(random, [group for known in _homes(random) for group in known]), size)


def _homes(random: Random) -> list[list[Group]]:
    """Return by log partition CLUSTER_GROUPS groups that Kafka puts there."""
    homes: dict[int, list[Group]] = defaultdict(list)
    for group in groups(random, [CLIENTS["plain"]], 2 * CLUSTER_GROUPS * DEFAULT_PARTITIONS):
        homes[partition_for(group.name)].append(group)
    return [homes[home][:CLUSTER_GROUPS] for home in range(DEFAULT_PARTITIONS)]


def _size(record: Record) -> int:
    return len(record.key) + len(record.value or b"")
