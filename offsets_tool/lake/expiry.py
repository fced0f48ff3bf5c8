"""Expiry of many offsets at a time: of live offsets from checkpoints, of removed ones, with causes, from rows of `removals`.

A cause needs the removals of all log partitions, because a topic's deletion shows in several of them: removals are split by topic,
and those of one topic are explained together. Decides nothing that expiry.forecast does not.
"""

import pickle
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain, islice
from types import MappingProxyType
from typing import Final, NamedTuple

import pyarrow as pa

from offsets_tool.as_of.as_of import AsOf
from offsets_tool.as_of.snapshot import PartitionSnapshot
from offsets_tool.as_of.views_offsets import current_homes
from offsets_tool.expiry.causes import PolicyConfidence
from offsets_tool.expiry.forecast import (
    TopicFact,
    explained_topics,
    live_rows,
    observe_live,
    observe_removed,
    removed_rows,
    topic_facts,
)
from offsets_tool.expiry.policy_search import Ages
from offsets_tool.expiry.removal_codec import unpack_removal_facts
from offsets_tool.expiry.removals import DroppedCommit, LongestLifetime
from offsets_tool.expiry.rows import ExpiryRow, expiry_row
from offsets_tool.expiry.rules import Policy
from offsets_tool.expiry.topic_removals import LogEnd
from offsets_tool.relations.carried import LiveState
from offsets_tool.relations.histories import restore_live
from offsets_tool.rows import Row
from offsets_tool.wire.arrow import shown_batch
from offsets_tool.wire.text import shown

ROWS: Final = 16_384


class ExpiryAsked(NamedTuple):
    """The policies for a cluster's expiry: live offsets get a forecast by each, removals are explained by the first.

    `known` says which settings of the policy are known to be the broker's. `newest` is the time of the cluster's newest record, in
    epoch milliseconds.
    """

    policies: tuple[Policy, ...]
    known: PolicyConfidence
    newest: int | None
    homes: Mapping[str, int | None] = MappingProxyType({})
    """Where each group lives that lies in several log partitions: what is live is there (views_offsets.current_homes)."""


class PartitionExpiry(NamedTuple):
    """The live offsets of one partition as rows of ExpiryRow, in batches, and the longest lifetime of each topic there."""

    live: Iterator[pa.RecordBatch]
    longest: list[LongestLifetime]


def checkpoint_expiry(checkpoint: bytes, source: str, asked: ExpiryAsked) -> PartitionExpiry:
    """Return the expiry of the live offsets in a partition's checkpoint.

    SourceError for a checkpoint that cannot be read; `source` names it.
    """
    live = restore_live(checkpoint, source)
    partitions = [_partition(live)]
    rows = (live_rows(partitions, policy, asked.newest, homes=asked.homes) for policy in asked.policies)
    return PartitionExpiry(_batches(chain.from_iterable(rows)), list(live.lifetimes.longest()))


def checkpoint_ages(checkpoint: bytes, source: str, asked: ExpiryAsked) -> Ages:
    """Return the ages of the live offsets in a partition's checkpoint; errors as `checkpoint_expiry`."""
    live, ages = restore_live(checkpoint, source), Ages()
    observe_live(ages, _partition(live), live.changed, asked.newest, asked.policies[0])
    return ages


def checkpoint_homes(checkpoints: Iterable[tuple[bytes, str]]) -> dict[str, int | None]:
    """Return where each group of a cluster lives that lies in several log partitions, given all checkpoints with their sources.

    Errors as `checkpoint_expiry`.
    """
    return current_homes(_partition(restore_live(*each)) for each in checkpoints)


def _partition(live: LiveState) -> PartitionSnapshot:
    partition = PartitionSnapshot(live.coordinator.log_partition, AsOf(), None, 0)
    partition.coordinator = live.coordinator
    return partition


def removal_ages(facts: Iterable[str], log_end: LogEnd, asked: ExpiryAsked) -> Ages:
    """Return the ages of removed offsets, given the `facts` of rows of `removals` of one partition and the end of its log."""
    ages, removals = Ages(), chain.from_iterable(map(unpack_removal_facts, facts))
    observe_removed(ages, removals, log_end, asked.policies[0])
    return ages


class PackedFact(NamedTuple):
    """A fact (a pickle) that the explanation of a topic's removals needs; all of one topic must come together again.

    `topic` is the name as rows show it.
    """

    topic: str
    packed: bytes


def removal_facts_by_topic(facts: Iterable[str], log_end: LogEnd, asked: ExpiryAsked) -> Iterator[PackedFact]:
    """Yield removals split by topic, given the `facts` of rows of `removals` of one partition and the end of its log."""
    removals = chain.from_iterable(map(unpack_removal_facts, facts))
    for fact in topic_facts(removals, log_end, asked.policies[0], asked.known):
        yield _packed(fact)


def longest_lifetimes(longest: Iterable[LongestLifetime]) -> Iterator[PackedFact]:
    """Return the longest lifetime of each topic, given those in all partitions of a cluster."""
    first: dict[tuple[object, ...], LongestLifetime] = {}
    for each in longest:
        first[each[:2]] = min(each, first.get(each[:2], each), key=lambda one: one.began_at)
    return (_packed(each) for each in first.values())


def explain_removals(packed: Iterable[bytes], asked: ExpiryAsked) -> Iterator[pa.RecordBatch]:
    """Yield rows of ExpiryRow of removed offsets, given all facts of a cluster that share a `topic`."""
    deletions = explained_topics(map(pickle.loads, packed), asked.newest, asked.known)
    return _batches(removed_rows(deletions, asked.policies[0]))


def _packed(fact: TopicFact) -> PackedFact:
    topic = fact.pending.topic if isinstance(fact, DroppedCommit) else fact.topic
    return PackedFact(shown(topic), pickle.dumps(fact))


def _batches(rows: Iterable[Row]) -> Iterator[pa.RecordBatch]:
    each = iter(rows)
    while some := list(islice(each, ROWS)):
        yield shown_batch(ExpiryRow, [expiry_row(row) for row in some])
