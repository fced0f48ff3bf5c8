"""Find the names of topic ids in a lake: from records, from options, and otherwise from what members subscribe to.

The library derives names from subscriptions (replay.topic_candidates): tasks observe each partition's records, the driver derives.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any, Final, NamedTuple

import pyarrow as pa

from offsets_tool.events import Event, decode
from offsets_tool.job_rows import TopicNameRow
from offsets_tool.lake.copies import LakeCopies, LakeCopy
from offsets_tool.lake.joined import JoinedRows
from offsets_tool.lake.merge import Batches
from offsets_tool.lake.plan import LogPartition, Work
from offsets_tool.lake.rows import LakeRows
from offsets_tool.relations.row_events import RowEvents
from offsets_tool.replay.topic_candidates import OBSERVED_TYPES, TargetTopics, TopicCandidates, derive_names
from offsets_tool.rows import LogRecord, UnreadableKind
from offsets_tool.wire.arrow import arrow_schema, record_batch
from offsets_tool.wire.json import parse_uuid, uuid_text
from offsets_tool.wire.schema import String
from spark.runtime.rows import Rows, numbers_of

RECORD: Final = "record"
OPTION: Final = "option"
DIRECTORY: Final = "directory"
"""The ways in which a name is learned (TopicNameRow.method)."""


_RECORD: Final = ["log_partition", "log_offset", "key", "value"]
Units = Callable[[int], Rows]
"""Makes a row for each unit of work, given how many there are."""
Named = Mapping[str, tuple[str, str]]
"""By topic id as text, the topic's name and how it was learned."""


class TopicIds:
    """The names of topic ids of all clusters, and those of them that the lake does not have yet."""

    def __init__(self, rows: Iterable[Mapping[str, Any]]) -> None:
        """Start with the names in `rows`, the rows of the table `topic_names`; of several rows of one id the newest counts."""
        self.names: dict[str, dict[str, str]] = {}
        """By cluster, the names by topic id as text."""
        self.added: dict[str, dict[str, tuple[str, str]]] = {}
        """By cluster and topic id, name and method of what the lake does not have yet."""
        for row in sorted(rows, key=lambda row: row["run"]):
            self.names.setdefault(row["cluster"], {})[row["topic_id"]] = row["topic"]

    def of(self, cluster: str) -> Mapping[str, str]:
        """Return the names of a cluster's topics by topic id."""
        return self.names.get(cluster, {})

    def learn(self, cluster: str, topic_id: str, topic: str, method: str) -> None:
        """Add a name: one from a record replaces any other; one from elsewhere counts only where there is none yet."""
        known = self.names.setdefault(cluster, {})
        if known.get(topic_id) == topic or (method != RECORD and topic_id in known):
            return
        known[topic_id] = topic
        self.added.setdefault(cluster, {})[topic_id] = (topic, method)

    def rows(self, run: int) -> list[TopicNameRow]:
        """Return the new names as rows of `topic_names` for a run."""
        return [
            TopicNameRow(cluster, topic_id, topic, method, run)
            for cluster, added in self.added.items()
            for topic_id, (topic, method) in added.items()
        ]


class _Observed(NamedTuple):
    """A complete target assignment, as JSON pairs of a topic id and the topics that it can stand for."""

    cluster: String
    snapshot: String


def derived_names(
    rows: LakeRows, log_partitions: Sequence[LogPartition], copies: LakeCopies, names: TopicIds, units: Units
) -> list[tuple[str, str, str]]:
    """Return cluster, topic id and name for each unnamed id whose name follows from subscriptions in these log partitions.

    `copies` are those of log partitions whose copies are joined.
    """

    def task(numbers: Batches) -> Batches:
        for number in numbers_of(numbers):
            log_partition = log_partitions[number]
            found = copies.get(log_partition)
            events = (
                _events(rows, log_partition) if found is None else _joined_events(rows, log_partition, found)
            )
            yield _observed(log_partition[0], events)

    by_cluster: dict[str, list[TargetTopics]] = {}
    for cluster, snapshot in units(len(log_partitions)).through(task, arrow_schema(_Observed)).collect():
        by_cluster.setdefault(cluster, []).append(_parsed(snapshot))
    found = []
    for cluster, snapshots in by_cluster.items():
        known = {id_: name for text, name in names.of(cluster).items() if (id_ := parse_uuid(text))}
        found += [(cluster, uuid_text(id_), name) for id_, name in derive_names(snapshots, known).items()]
    return sorted(found)


def damaged_partitions(sources: Iterable[Mapping[str, Any]]) -> set[LogPartition]:
    """Return the log partitions with misplaced or unreadable records, as rows of `sources` show them."""
    return {
        (row["cluster"], row["log_partition"])
        for row in sources
        if row["misplaced_batches"]
        or any(not UnreadableKind(found["kind"]).is_tail for found in row["unreadable"])
    }


def _observed(cluster: str, events: Iterable[Event]) -> pa.RecordBatch:
    """Return the complete target assignments in the events of a log partition, a row for each."""
    candidates = TopicCandidates()
    for event in events:
        candidates.observe(event)
    snapshots = (_text(snapshot) for _, snapshot in candidates.placed_snapshots())
    return record_batch(_Observed, [_Observed(cluster, text) for text in snapshots])


def _events(rows: LakeRows, log_partition: LogPartition) -> Iterator[Event]:
    """Yield the events of a log partition about target assignments, in the order of their offsets, each once."""
    last = -1
    for batch in rows.raw(_whole(log_partition), OBSERVED_TYPES):
        for row in batch.select(_RECORD).to_pylist():
            if row["log_offset"] > last:
                yield decode(LogRecord(source="", timestamp=0, **row))
                last = row["log_offset"]


def _joined_events(
    rows: LakeRows, log_partition: LogPartition, copies: Sequence[LakeCopy]
) -> Iterator[Event]:
    pages = JoinedRows(copies, log_partition[1]).rows(lambda: rows.records(_whole(log_partition)))
    return chain.from_iterable(map(RowEvents().events, pages))


def _whole(log_partition: LogPartition) -> Work:
    return Work(*log_partition, 0, None, None, 0, 0)


def _text(snapshot: TargetTopics) -> str:
    return json.dumps([[uuid_text(id_), sorted(topics)] for id_, topics in snapshot])


def _parsed(text: str) -> TargetTopics:
    pairs = ((parse_uuid(id_), frozenset(topics)) for id_, topics in json.loads(text))
    return frozenset((id_, topics) for id_, topics in pairs if id_ is not None)
