"""Look at what ingests have added to a lake since a replay: new records by log partition, and names of topics.

A task reads some columns of a file of `events`. Knows no rules.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from offsets_tool.lake.merge import Batches
from offsets_tool.lake.plan import LogPartition, New
from offsets_tool.lake.rows import ORIGIN, LakeRows, TableFile
from offsets_tool.lake.scan import file_rows
from offsets_tool.lake.tables import EVENTS
from offsets_tool.records.kinds import TOPIC_LISTS
from offsets_tool.wire.arrow import arrow_schema, record_batch
from offsets_tool.wire.json import camel, uuid_text
from offsets_tool.wire.schema import ZERO_UUID, String
from spark.runtime.rows import StartSpark, is_little, numbers_of, of_units

Name = tuple[str, str, str]
"""A cluster, the id of a topic as text, and the topic's name."""
_LISTS: Final = sorted({camel(name) for names in TOPIC_LISTS.values() for name in names})
_NAMING: Final = pa.array(sorted(TOPIC_LISTS), pa.int16())
_NAMED: Final = ("cluster", "topic_id", "topic")
_COLUMNS: Final = (*ORIGIN, "log_partition", "log_offset", "record_type", "topic_id", "topic")


class News(NamedTuple):
    """What ingests have added since a replay: new records by log partition, and names of topics in them."""

    new: list[New]
    names: list[Name]


class _FileNews(NamedTuple):
    """The result of a task: what is new in its file (New, as JSON), and names (as JSON)."""

    new: String
    names: String


def news(rows: LakeRows, since: Mapping[str, int], start: StartSpark) -> News:
    """Return what ingests have added to each cluster after its run in `since`; SourceError for a file that cannot be read."""
    files = rows.since(since)
    is_here = is_little(sum(file.records for file in files))

    def task(numbers: Batches) -> Batches:
        for number in numbers_of(numbers):
            yield record_batch(_FileNews, [_news_of(rows, files[number], since)])

    results = of_units(start, len(files), is_here=is_here).through(task, arrow_schema(_FileNews)).collect()
    new, names = dict[LogPartition, New](), set[Name]()
    for found, named in results:
        for each in json.loads(found):
            _add(new, New(*each))
        names.update(map(tuple, json.loads(named)))
    return News(list(new.values()), sorted(names))


def _add(new: dict[LogPartition, New], more: New) -> None:
    key = more.cluster, more.log_partition
    known = new.get(key, more._replace(records=0))
    first = min(known.first_offset, more.first_offset)
    new[key] = New(*key, known.records + more.records, first)


def _news_of(rows: LakeRows, file: TableFile, since: Mapping[str, int]) -> _FileNews:
    new, names = dict[LogPartition, New](), set[Name]()
    for some in _new_rows(rows, file, since):
        for each in _new(some):
            _add(new, each)
        names.update(_of_commits(some))
        names.update(_of_lists(some))
    return _FileNews(json.dumps(list(new.values())), json.dumps(sorted(names)))


def _new_rows(rows: LakeRows, file: TableFile, since: Mapping[str, int]) -> Iterator[pa.RecordBatch]:
    """Yield the rows of a file that count and are new; values as JSON only where there may be some that name topics."""
    greatest = file.facts.get("max.record_type")
    has_lists = greatest is not None and greatest >= min(TOPIC_LISTS)
    columns = (*_COLUMNS, "value_json") if has_lists else _COLUMNS
    for some in file_rows(file.path, EVENTS, columns):
        counted = rows.counted(some)
        yield counted.filter(_are_after(counted, since))


def _are_after(rows: pa.RecordBatch, since: Mapping[str, int]) -> pa.Array:
    """Return for each row whether its ingest came after the run that `since` has for its cluster."""
    clusters = rows.column("cluster")
    runs = pa.array([since.get(name, 0) for name in clusters.dictionary.to_pylist()], pa.int64())
    return pc.greater(rows.column("run"), runs.take(clusters.indices))


def _new(rows: pa.RecordBatch) -> Iterator[New]:
    offsets = pa.table(rows.select(["cluster", "log_partition", "log_offset"]))
    found = offsets.group_by(["cluster", "log_partition"]).aggregate(
        [("log_offset", "count"), ("log_offset", "min")]
    )
    for row in found.to_pylist():
        yield New(row["cluster"], row["log_partition"], row["log_offset_count"], row["log_offset_min"])


def _of_commits(rows: pa.RecordBatch) -> Iterator[Name]:
    is_named = pc.not_equal(rows.column("topic_id"), uuid_text(ZERO_UUID))
    results = pa.table(rows.filter(is_named).select(_NAMED)).group_by(list(_NAMED)).aggregate([]).to_pylist()
    return ((row["cluster"], row["topic_id"], row["topic"]) for row in results if row["topic"] is not None)


def _of_lists(rows: pa.RecordBatch) -> Iterator[Name]:
    """Yield the topic names and ids in values that list topics."""
    if "value_json" not in rows.schema.names:
        return
    results = rows.filter(pc.is_in(rows.column("record_type"), _NAMING)).select(["cluster", "value_json"])
    for cluster, text in {tuple(row.values()) for row in results.to_pylist()}:
        if text is not None:
            yield from ((cluster, *named) for named in _listed(json.loads(text)))


def _listed(value: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    lists: Iterable[Sequence[Mapping[str, str | None]]] = (value.get(name) or () for name in _LISTS)
    for topic_id, topic in ((each.get("topicId"), each.get("topicName")) for some in lists for each in some):
        if topic_id is not None and topic is not None:
            yield topic_id, topic
