"""Expiry of what replays by column left is that of the log, record by record: wherever they were left, topic by topic."""

from collections.abc import Sequence
from itertools import groupby
from operator import attrgetter
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from offsets_tool.as_of.snapshot import Snapshot
from offsets_tool.checkpoint import restore, save
from offsets_tool.errors import SourceError
from offsets_tool.events import decode
from offsets_tool.expiry.causes import PolicyConfidence
from offsets_tool.expiry.forecast import explained, live_rows, removed_rows
from offsets_tool.expiry.rows import ExpiryRow, expiry_row
from offsets_tool.expiry.rules import Policy
from offsets_tool.expiry.topic_removals import LogEnd
from offsets_tool.lake.expiry import (
    ExpiryAsked,
    PackedFact,
    checkpoint_expiry,
    explain_removals,
    longest_lifetimes,
    removal_facts_by_topic,
)
from offsets_tool.relations.histories import Histories
from offsets_tool.relations.replays import HistoryRows, Start
from offsets_tool.replay.coordinator import Coordinator
from offsets_tool.replay.rules import Rules
from offsets_tool.rows import LogRecord
from offsets_tool.wire.arrow import record_batch
from offsets_tool.wire.text import shown_row
from tests import plain_rows
from tests.absurd_times import write_absurd_times
from tests.corpora import partitions
from tests.depth import DEEP, sample
from tests.expiry.replayed_corpora import Logs, all_removals, moment_of
from tests.relations.test_histories import parts, records_of, rows_of
from tests.replay.random_logs import READERS, RandomLog, segment

Records = dict[int, list[LogRecord]]
DAY = 86_400_000
ASKED = [
    ((Policy((3, 6), 60_000, 2_000), Policy((3, 6), 7 * DAY)), PolicyConfidence()),
    ((Policy((4, 3), 1_000, 1_000),), PolicyConfidence(False, False)),
    ((Policy((1, 1), DAY),), PolicyConfidence(True, False)),
]
BY_CORPUS = {
    name: list(some) for name, some in groupby(partitions(), key=lambda partition: partition.parts[-3])
}


class PartitionEnd(NamedTuple):
    """The end of one partition's replay: facts of its removals, its last checkpoint, and how its log ends."""

    facts: list[str]
    checkpoint: bytes
    log_end: LogEnd


def replayed_in_parts(number: int, records: Sequence[LogRecord], rules: Rules | None) -> PartitionEnd:
    """Replay records in three parts, each from the checkpoint of the one before, and return the end."""
    rows, facts, checkpoint = rows_of(records), list[str](), None
    for batch in parts(rows, [rows.num_rows // 3, rows.num_rows - 2]):
        replay = Histories(Start(number, {}, rules, checkpoint))
        ended: HistoryRows = replay.replay(batch)
        left = replay.leave()
        facts, checkpoint = [*facts, *ended.removals.column("facts").to_pylist()], left.checkpoint
    assert checkpoint is not None
    told = restore(checkpoint).observers
    assert told is not None
    facts += left.rows.removals.column("facts").to_pylist()
    return PartitionEnd(facts, checkpoint, LogEnd(left.rules is Rules.NEW, told.log_facts.proven_from))


def by_column(moment: Snapshot, logs: Records, asked: ExpiryAsked) -> list[Any]:
    """Return the expiry of each topic by itself, as tasks of a lake compute it."""
    found, removals, alive = [], list[PackedFact](), []
    for partition in moment:
        coordinator = partition.coordinator
        assert partition.log_partition is not None
        rules = None if coordinator.auto else coordinator.rules
        left = replayed_in_parts(partition.log_partition, logs[partition.log_partition], rules)
        there = checkpoint_expiry(left.checkpoint, "checkpoint", asked)
        found += [tuple(row.values()) for rows in there.live for row in rows.to_pylist()]
        alive += there.longest
        removals += removal_facts_by_topic(left.facts, left.log_end, asked)
    by_topic = groupby(
        sorted([*reversed(removals), *longest_lifetimes(alive)], key=attrgetter("topic")), attrgetter("topic")
    )
    for _, some in by_topic:
        for rows in explain_removals((each.packed for each in some), asked):
            found += [tuple(row.values()) for row in rows.to_pylist()]
    return sorted(found, key=repr)


def one_at_a_time(moment: Snapshot, logs: Records, asked: ExpiryAsked) -> list[Any]:
    events: Logs = {number: list(map(decode, records)) for number, records in logs.items()}
    removals = all_removals(moment, events)
    told = explained(removals, asked.newest, asked.policies[0], asked.known)
    rows = [row for policy in asked.policies for row in live_rows(moment, policy, asked.newest)]
    rows += removed_rows(told, asked.policies[0])
    told = record_batch(ExpiryRow, [shown_row(expiry_row(row)) for row in rows]).to_pylist()
    return sorted((tuple(row.values()) for row in told), key=repr)


def check(logs: Records) -> int:
    """How many rows there are."""
    moment = moment_of({number: list(map(decode, records)) for number, records in logs.items()})
    many = 0
    for policies, known in ASKED:
        asked = ExpiryAsked(policies, known, moment.newest_timestamp)
        expected = one_at_a_time(moment, logs, asked)
        assert by_column(moment, logs, asked) == expected
        many += len(expected)
    return many


@pytest.mark.parametrize("corpus", sample(list(BY_CORPUS), 3))
def test_real_logs(corpus: str) -> None:
    logs = {int(path.name.rpartition("-")[2]): records_of(path) for path in BY_CORPUS[corpus]}
    assert check({number: records for number, records in logs.items() if records}) > 0


@pytest.mark.parametrize(
    ("release", "seed"), sample([(release, seed) for seed in range(2) for release in READERS], 5)
)
def test_random_logs_in_order_and_in_disorder(release: str, seed: int, tmp_path: Path) -> None:
    logs = {}
    for number in range(2):
        log = RandomLog(2 * seed + number, READERS[release], disorder=0.1 * seed).grow(250 if DEEP else 120)
        path = tmp_path / f"__consumer_offsets-{number}" / f"{0:020d}.log"
        path.parent.mkdir()
        path.write_bytes(segment(log.placed))
        logs[number] = list(plain_rows.records([path]))
    check(logs)


def test_times_that_are_none(tmp_path: Path) -> None:
    """Commits, groups' states, own times to expire and records at the edges of 64 bits and of the calendar."""
    directory = write_absurd_times(tmp_path)
    assert check({3: [*plain_rows.records(directory.iterdir())]}) > 500


def test_a_checkpoint_of_the_coordinator_alone_is_refused() -> None:
    asked = ExpiryAsked(*ASKED[0], None)
    with pytest.raises(SourceError, match="c: a checkpoint of the coordinator alone"):
        checkpoint_expiry(save(Coordinator(0), 0), "c", asked)
