"""Names of topic ids in a lake: what records, options and, where these leave none, subscriptions say of each cluster's ids.

What an id can be is for the library to say (replay.topic_candidates): tasks observe a partition's records, the driver derives.
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
"""How a name is known: TopicNameRow.method."""


Named = Mapping[str, tuple[str, str]]
"""By id as text, a topic's name and how it is known."""


class TopicIds:
    """The names of all clusters' ids, and which of them are new to the lake."""

    def __init__(self, rows: Iterable[Mapping[str, Any]]) -> None:
        """`rows` are those of `topic_names`: the newest of an id counts."""
        self.names: dict[str, dict[str, str]] = {}
        """By cluster, names by id as text."""
        self.added: dict[str, dict[str, tuple[str, str]]] = {}
        """By cluster and id, name and method of what the lake does not have yet."""
        for row in sorted(rows, key=lambda row: row["run"]):
            self.names.setdefault(row["cluster"], {})[row["topic_id"]] = row["topic"]

    def of(self, cluster: str) -> Mapping[str, str]:
        """The names of a cluster's ids."""
        return self.names.get(cluster, {})

    def learn(self, cluster: str, topic_id: str, topic: str, method: str) -> None:
        """Take up a name. What a record says counts whatever was known before; everything else where there is no name."""
        known = self.names.setdefault(cluster, {})
        if known.get(topic_id) == topic or (method != RECORD and topic_id in known):
            return
        known[topic_id] = topic
        self.added.setdefault(cluster, {})[topic_id] = (topic, method)

    def rows(self, run: int) -> list[TopicNameRow]:
        """The new names as rows of `topic_names`."""
        return [
            TopicNameRow(cluster, topic_id, topic, method, run)
            for cluster, added in self.added.items()
            for topic_id, (topic, method) in added.items()
        ]


class _Observed(NamedTuple):
    """One complete target assignment: JSON pairs of an id and the topics that it can be."""

    cluster: String
    log_partition: Int32 | None
    snapshot: String


def derived_names(
    records: DataFrame, sources: Iterable[Mapping[str, Any]], names: TopicIds
) -> list[tuple[str, str, str]]:
    """Return cluster, id and name of ids without one, going by `records` (LakeRows.assignments) of partitions that lack none."""
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
    """Take records of whole partitions in the order of their offsets, give the assignments that they complete."""
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
