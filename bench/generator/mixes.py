"""Make endless batches from a seed, with the records that brokers' logs consist of: commits, and what rebalances write.

Each mix is a function from a seeded Random to batches. Realistic where it decides speed (names, sizes, how often keys and blobs
repeat), made up elsewhere.
"""

import struct
from collections.abc import Callable, Iterator
from random import Random
from typing import Final

from bench.generator import members
from bench.generator.batches import Batch, Record
from bench.generator.clients import CLIENTS, Group, groups

Mix = Callable[[Random], Iterator[Batch]]

BEGIN: Final = 1_795_000_000_000
MOST: Final = 9
"""The most partitions that a group commits at a time."""
_LINGERED: Final = 60
_GROUP_RECORDS: Final = 0.2
_COORDINATOR_EPOCH: Final = 7
_COMMIT_MARKER: Final = Record(struct.pack(">hh", 0, 1), struct.pack(">hi", 0, _COORDINATOR_EPOCH))
_ABORT_MARKER: Final = Record(struct.pack(">hh", 0, 0), struct.pack(">hi", 0, _COORDINATOR_EPOCH))


def commits(random: Random) -> Iterator[Batch]:
    """Yield commits of value version 3 without metadata, five partitions in a batch: what most of the topic consists of."""
    return commits_of(random, groups(random, [CLIENTS["plain"]]))


def large_batches(random: Random) -> Iterator[Batch]:
    """Yield commits without metadata, some sixty in a batch, as a coordinator that lingers appends: large enough for codecs."""
    waiting: list[Record] = []
    for batch in commits(random):
        waiting += batch.records
        if len(waiting) >= _LINGERED:
            yield Batch(waiting, batch.timestamp)
            waiting = []


def rich(random: Random) -> Iterator[Batch]:
    """Yield commits of versions 1, 3 and 4: with topic ids, with metadata, in transactions with markers; and tombstones."""
    known = groups(random, list(CLIENTS.values()))
    time, producer = BEGIN, 0
    for batch in commits_of(random, known):
        time, dice = batch.timestamp, random.random()
        if dice < 0.04:
            yield batch._replace(records=[record._replace(value=None) for record in batch.records])
        elif dice < 0.20:
            producer = 1000 + random.randrange(200)
            yield batch._replace(producer=(producer, 3, random.randrange(1 << 20)), is_transactional=True)
            marker = _ABORT_MARKER if random.random() < 0.05 else _COMMIT_MARKER
            yield Batch([marker], time, (producer, 3, -1), is_transactional=True, is_control=True)
        else:
            yield batch


def rebalances(random: Random) -> Iterator[Batch]:
    """Yield commits; one record in five is a classic group's metadata, with the blobs of ten members."""
    known = [members.ClassicGroup(f"classic-{number}", random) for number in range(200)]
    plain = commits_of(random, groups(random, [CLIENTS["plain"]]))
    return _mixed(random, plain, lambda time: random.choice(known).rebalance(time))


def consumer_groups(random: Random) -> Iterator[Batch]:
    """Yield commits; one record in five is of a KIP-848 group: epochs, members, target and current assignments."""
    known = [members.ConsumerGroup(number, random) for number in range(200)]
    plain = commits_of(random, groups(random, [CLIENTS["with topic id"]]))
    return _mixed(random, plain, lambda time: random.choice(known).rebalance(time))


MIXES: Final[dict[str, Mix]] = {
    mix.__name__.replace("_", "-"): mix for mix in (commits, large_batches, rich, rebalances, consumer_groups)
}


def commits_of(random: Random, known: list[Group], most: int = MOST) -> Iterator[Batch]:
    """Yield batches in which a group commits some of its partitions; some groups commit far more often than others."""
    time = BEGIN
    while True:
        time += int(random.random() * 20)
        group = known[int(random.random() ** 2 * len(known))]
        yield Batch(group.commit(1 + int(random.random() * most), time, random), time)


def _mixed(
    random: Random, plain: Iterator[Batch], rebalance: Callable[[int], list[list[Record]]]
) -> Iterator[Batch]:
    """Yield commits, and a rebalance whenever too few of the records so far are of rebalances."""
    ours, all_ = 0, 0
    for batch in plain:
        yield batch
        all_ += len(batch.records)
        while ours < _GROUP_RECORDS * all_:
            for records in rebalance(batch.timestamp):
                yield Batch(records, batch.timestamp)
                ours += len(records)
                all_ += len(records)
