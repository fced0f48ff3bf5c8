"""The evidence itself as Arrow tables: its files, its records, and what held from one record to the next.

Columns are those of the lake's tables, but for `cluster` and `run`. Decodes and replays nothing itself.
"""

from collections.abc import Iterator
from itertools import chain
from typing import Any, Final

import pyarrow as pa

from offsets_tool.arrow_tables.table_of_rows import AnyPath, table_of
from offsets_tool.columns.decode import decode_batches, log_batches
from offsets_tool.columns.reading import RowReader
from offsets_tool.evidence.answers.files import FileRow, file_rows
from offsets_tool.evidence.answers.sizing import EvidenceSizes
from offsets_tool.evidence.evidence import Evidence, open_evidence
from offsets_tool.evidence.lanes import rows_pay
from offsets_tool.evidence.replaying import EvidenceReplay
from offsets_tool.evidence.sources import Source
from offsets_tool.history.rows import (
    AnomalyRow,
    GroupHistoryRow,
    HistoryRow,
    MemberHistoryRow,
    OffsetHistoryRow,
)
from offsets_tool.sizes.rows import SizeRow, group_rows
from offsets_tool.table_rows import EventRow
from offsets_tool.wire.arrow import arrow_schema
from offsets_tool.wire.text import shown

_HISTORIES: Final[dict[str, type[HistoryRow]]] = {
    "offset_history": OffsetHistoryRow,
    "group_history": GroupHistoryRow,
    "member_history": MemberHistoryRow,
    "anomalies": AnomalyRow,
}
_OF_LAKES: Final = ["cluster", "run"]
"""Columns that tell rows of one lake apart, and are the same in all rows here."""


def read_files(*paths: AnyPath, **options: Any) -> pa.Table:
    """Return what the evidence is, a row a file: its hash, where every byte and record of it went, what it covers.

    Everything is read and counted, as by `offsets-tool inspect`. Columns are those of `evidence.answers.files.FileRow`, options
    those of `open_evidence`. SourceError for a path that cannot be read.

    >>> files = read_files("fixtures/corpora/3.9.2-txn/segments")
    >>> files.num_rows, all(files["adds_up"].to_pylist()), sum(files["records"].to_pylist())
    (4, True, 97)
    """
    with open_evidence(*paths, is_of_records=True, **options) as evidence:
        return table_of(FileRow, file_rows(evidence))


def read_sizes(*paths: AnyPath, **options: Any) -> pa.Table:
    """Return whose bytes the log has, the largest first, and what compaction would leave of them, as `offsets-tool size` does.

    Columns are those of `sizes.rows.SizeRow`, options those of `open_evidence`. SourceError for a path that cannot be read.

    >>> sizes = read_sizes("fixtures/incidents/commit-storm/segments")
    >>> sizes.select(["group", "bytes", "left_bytes"]).to_pylist()[0]
    {'group': 'thermostat', 'bytes': 117638, 'left_bytes': 230}
    """
    with open_evidence(*paths, is_of_records=True, **options) as evidence:
        sizes = EvidenceSizes(evidence)
        rows = group_rows(sizes.run(), sizes.newest_timestamp)
    return table_of(SizeRow, (tuple(row[name] for name in SizeRow._fields) for row in rows))


def read_events(*paths: AnyPath, **options: Any) -> pa.Table:
    """Return every record below the paths, decoded: an Arrow table with the columns of the lake's `events`.

    A commit has its fields in columns; all other kinds have Kafka's JSON in `value_json`; what did not read is in `problem`.
    Options are those of `open_evidence`, but for `filters`. SourceError for a path that cannot be read.

    >>> table = read_events("fixtures/corpora/3.9.2-txn/segments")
    >>> table.num_rows, table.column("group")[0].as_py()
    (97, 'shipping-hangonly-17b3')
    >>> frame = table.to_pandas()  # with pandas, of the extras `spark` and `notebook`
    """
    schema = arrow_schema(EventRow)
    with open_evidence(*paths, is_of_records=True, **options) as evidence:
        batches = [batch.cast(schema) for batch in _batches(evidence)]
    return pa.Table.from_batches(batches, schema).drop_columns(_OF_LAKES)


def _batches(evidence: Evidence) -> Iterator[pa.RecordBatch]:
    reader = RowReader(log=False, fast=rows_pay(evidence.sources))
    for source in evidence.sources:
        if source.segment is None:
            yield from _of_records(evidence, source)
        else:
            yield from (read.events for read in evidence.rows(source, reader) if read.events is not None)


def _of_records(evidence: Evidence, source: Source) -> Iterator[pa.RecordBatch]:
    """Yield the rows of an archive or a live topic. The ledger counts events, so each record is decoded for it first."""
    records = (event.record for item in evidence.items(source) for event in evidence.decoded(item))
    return decode_batches(log_batches(records, cluster="", source=shown(source.name), run=0))


def read_histories(*paths: AnyPath, **options: Any) -> dict[str, pa.Table]:
    """Return what held from one record to the next, by name: `offset_history`, `group_history`, `member_history`, `anomalies`.

    Each is an Arrow table with the columns of the lake's table of that name; what still holds has no `to_log_offset`. Options are
    those of `open_evidence`: of several copies of a partition, view="evidence" gives what is known to have happened. UsageError for
    copies of two clusters, SourceError for a path that cannot be read.

    >>> histories = read_histories("fixtures/corpora/2.4.1-mix/segments")
    >>> offsets = histories["offset_history"]
    >>> [row["delta"] for row in offsets.to_pylist() if row["group"] == "iris_pricing" and (row["delta"] or 0) < 0]
    [-3681, -556552787]
    >>> nights = [f"fixtures/corpora-replicated/4.1.2-nightly/copies/{name}" for name in ("night-1", "final")]
    >>> [read_histories(*nights, view=view)["offset_history"].num_rows for view in ("coordinator", "evidence")]
    [35, 178]
    """
    rows: dict[type[HistoryRow], list[HistoryRow]] = {row: [] for row in _HISTORIES.values()}
    with EvidenceReplay(open_evidence(*paths, **options)) as replay:
        for row in chain.from_iterable(replay.ask(lambda histories: histories.rows(*_HISTORIES.values()))):
            rows[type(row)].append(row)
    return {name: table_of(row, rows[row]) for name, row in _HISTORIES.items()}
