"""Expiry many at a time, from what a replay left: of a checkpoint when each offset goes, of rows of `removals` why others went.

What went in all partitions together tells why (a topic's deletion shows in several): removals are weighed one by one, and what they
took is explained topic by topic. Decides nothing that expiry.forecast does not.
"""

import pickle
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Final, NamedTuple

import pyarrow as pa

from offsets_tool.as_of.as_of import AsOf
from offsets_tool.as_of.snapshot import PartitionSnapshot
from offsets_tool.checkpoint import restore
from offsets_tool.errors import SourceError
from offsets_tool.expiry.causes import PolicyConfidence
from offsets_tool.expiry.forecast import forecast_rows, gone_rows, observe_left
from offsets_tool.expiry.policy_search import Ages
from offsets_tool.expiry.removal_causes import explain_dropped, explained_topic
from offsets_tool.expiry.removal_codec import unpack_removal_facts
from offsets_tool.expiry.removal_tracker import RemovalTracker
from offsets_tool.expiry.removals import DroppedCommit, LongestLifetime
from offsets_tool.expiry.rows import ExpiryRow, expiry_row
from offsets_tool.expiry.rules import Policy
from offsets_tool.expiry.topic_removals import LogEnd, TopicRemoval, age, weighed
from offsets_tool.rows import Row
from offsets_tool.wire.arrow import record_batch
from offsets_tool.wire.text import shown, shown_row

ROWS: Final = 16_384


class ExpiryAsked(NamedTuple):
    """By which policies: the forecast is by each, what is gone is weighed by the first. `newest`: time of the cluster's newest
    record, epoch milliseconds."""

    policies: tuple[Policy, ...]
    known: PolicyConfidence
    newest: int | None


class PartitionExpiry(NamedTuple):
    """Rows of ExpiryRow of what is there, some at a time, and since when its topics have been."""

    live: Iterator[pa.RecordBatch]
    alive: list[LongestLifetime]


def checkpoint_expiry(checkpoint: bytes, source: str, asked: ExpiryAsked) -> PartitionExpiry:
    """Of one partition, as its replay left it. SourceError for a checkpoint that does not read; `source` is what to call it."""
    partition, left = _left(checkpoint, source)
    rows = (row for policy in asked.policies for row in forecast_rows(partition, policy, asked.newest))
    return PartitionExpiry(_batches(rows), list(left.lifetimes.alive()))


def checkpoint_ages(checkpoint: bytes, source: str, asked: ExpiryAsked) -> Ages:
    """How old is what is left in one partition; errors as `checkpoint_expiry`."""
    partition, left = _left(checkpoint, source)
    ages = Ages()
    observe_left(ages, partition, left.memory().changed, asked.newest, asked.policies[0])
    return ages


def _left(checkpoint: bytes, source: str) -> tuple[PartitionSnapshot, RemovalTracker]:
    coordinator, _, told = restore(checkpoint, source)
    if told is None:
        raise SourceError(source, "a checkpoint of the coordinator alone; replay the log from its start")
    partition = PartitionSnapshot(coordinator.log_partition, AsOf(), None, 0)
    partition.coordinator = coordinator
    return partition, told.removals.tracker


def loss_ages(facts: Iterable[str], ending: LogEnd, asked: ExpiryAsked) -> Ages:
    """Of facts of RemovalRow of one partition, how old it was what went."""
    ages = Ages()
    for text in facts:
        for loss in unpack_removal_facts(text):
            if not isinstance(loss, DroppedCommit):
                age(ages, loss, ending, asked.policies[0])
    return ages


class OfTopic(NamedTuple):
    """Something that bears on what was lost of a topic, as rows show its name: by topics, these may part ways and meet again."""

    topic: str
    packed: bytes


def weigh_losses(facts: Iterable[str], ending: LogEnd, asked: ExpiryAsked) -> Iterator[OfTopic]:
    """Of facts of RemovalRow of one partition, what each took of each topic."""
    for text in facts:
        for loss in unpack_removal_facts(text):
            if isinstance(loss, DroppedCommit):
                yield _of_topic(loss.pending.topic, loss)
                continue
            retention_known = asked.known.retention
            for part in weighed(loss, ending, asked.policies[0], retention_known=retention_known):
                yield _of_topic(part.topic, part)


def living(alive: Iterable[LongestLifetime]) -> Iterator[OfTopic]:
    """What was told of all partitions of a cluster, the longest life of each topic."""
    first: dict[tuple[object, ...], LongestLifetime] = {}
    for each in alive:
        first[each[:2]] = min(each, first.get(each[:2], each), key=lambda one: one.began_at)
    return (_of_topic(each.topic, each) for each in first.values())


def explain_losses(packed: Iterable[bytes], asked: ExpiryAsked) -> Iterator[pa.RecordBatch]:
    """Rows of ExpiryRow of what is gone, given all OfTopic of a cluster that share a `topic`."""
    by_topic: dict[str, list[TopicRemoval | DroppedCommit | LongestLifetime]] = {}
    for each in packed:
        topic, found = pickle.loads(each)
        by_topic.setdefault(topic, []).append(found)
    return _batches(row for some in by_topic.values() for row in _explained(some, asked))


def _explained(
    some: Sequence[TopicRemoval | DroppedCommit | LongestLifetime], asked: ExpiryAsked
) -> Iterator[Row]:
    policy = asked.policies[0]
    alive = [each for each in some if isinstance(each, LongestLifetime)]
    lost = [each for each in some if isinstance(each, TopicRemoval)]
    yield from gone_rows((explain_dropped(each) for each in some if isinstance(each, DroppedCommit)), policy)
    yield from gone_rows(explained_topic(lost, alive, asked.newest, policy, asked.known), policy)


def _of_topic(topic: str, found: TopicRemoval | DroppedCommit | LongestLifetime) -> OfTopic:
    return OfTopic(shown(topic), pickle.dumps((topic, found)))


def _batches(rows: Iterable[Row]) -> Iterator[pa.RecordBatch]:
    each = iter(rows)
    while some := list(islice(each, ROWS)):
        yield record_batch(ExpiryRow, [shown_row(expiry_row(row)) for row in some])
