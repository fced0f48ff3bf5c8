"""Find the names of topic ids in a lake: from records, from options, and otherwise from what members subscribe to.

The library derives names from subscriptions (replay.topic_candidates): tasks observe each partition's records, the driver derives.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final, NamedTuple

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql.pandas.types import from_arrow_schema

from offsets_tool.events import decode
from offsets_tool.job_rows import TopicNameRow
from offsets_tool.replay.topic_candidates import TargetTopics, TopicCandidates, derive_names
from offsets_tool.rows import LogRecord, UnreadableKind
from offsets_tool.wire.arrow import arrow_schema, record_batch
from offsets_tool.wire.json import parse_uuid, uuid_text
from offsets_tool.wire.schema import Int32, String

RECORD: Final = "record"
OPTION: Final = "option"
DIRECTORY: Final = "directory"
SUBSCRIPTIONS: Final = "subscriptions"
"""The ways in which a name is learned (TopicNameRow.method)."""


Named = Mapping[str, tuple[str, str]]
"""By topic id as text, the topic's name and how it was learned."""


class TopicIds:
    """The names of topic ids of all clusters, and those of them that the lake does not have yet."""

    def __init__(self, rows: Iterable[Mapping[str, Any]]) -> None:
        """`rows` are those of `topic_names`: the newest of an id counts."""
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
    log_partition: Int32 | None
    snapshot: String


def derived_names(
    records: DataFrame, sources: Iterable[Mapping[str, Any]], names: TopicIds
) -> list[tuple[str, str, str]]:
    """Return cluster, topic id and name for ids without a name that `records` (LakeRows.assignments) can derive.

    Partitions with misplaced or unreadable records, as `sources` shows them, are left out.
    """
    damaged = {
        (row["cluster"], row["log_partition"])
        for row in sources
        if row["misplaced"] or any(not UnreadableKind(found["kind"]).is_tail for found in row["unreadable"])
    }
    by_cluster: dict[str, list[TargetTopics]] = {}
    for row in records.mapInArrow(_observe, from_arrow_schema(arrow_schema(_Observed))).collect():
        if (row.cluster, row.log_partition) not in damaged:
            by_cluster.setdefault(row.cluster, []).append(_parsed(row.snapshot))
    found = []
    for cluster, snapshots in by_cluster.items():
        known = {id_: name for text, name in names.of(cluster).items() if (id_ := parse_uuid(text))}
        found += [(cluster, uuid_text(id_), name) for id_, name in derive_names(snapshots, known).items()]
    return sorted(found)


def _observe(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Yield the target assignments that the records of whole partitions, in the order of their offsets, make complete."""
    clusters: dict[str, TopicCandidates] = {}
    for batch in batches:
        for row in batch.to_pylist():
            cluster = row.pop("cluster")
            event = decode(LogRecord(source="", timestamp=0, **row))
            clusters.setdefault(cluster, TopicCandidates()).observe(event)
    rows = [
        _Observed(cluster, log_partition, _text(snapshot))
        for cluster, candidates in clusters.items()
        for log_partition, snapshot in candidates.placed_snapshots()
    ]
    yield record_batch(_Observed, rows)


def _text(snapshot: TargetTopics) -> str:
    return json.dumps([[uuid_text(id_), sorted(topics)] for id_, topics in snapshot])


def _parsed(text: str) -> TargetTopics:
    pairs = ((parse_uuid(id_), frozenset(topics)) for id_, topics in json.loads(text))
    return frozenset((id_, topics) for id_, topics in pairs if id_ is not None)
