"""The rows of a log partition of which the lake has several copies, by the view of the evidence: what is known to have happened.

Rows of `log` become records that know which copies have them. What counts, which branch was left and which keys are proven to be
deleted is decided by offsets_tool.log.copies, as on the command line.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache
from typing import Final

import pyarrow as pa

from offsets_tool.as_of.coverage import Contradiction
from offsets_tool.columns.columns_of_rows import plain
from offsets_tool.columns.decode import KEYS_KEPT, added_columns
from offsets_tool.errors import UsageError
from offsets_tool.events import decode_key
from offsets_tool.evidence.joined_log import contradiction_of, of_two_clusters, parted
from offsets_tool.lake.copies import LakeCopy
from offsets_tool.log.copies.forks import Forks
from offsets_tool.log.copies.lineage import NO_END, Lineage
from offsets_tool.log.copies.union import Distinct, RowRecord
from offsets_tool.log.copies.views import BranchEnd, LeftOut, Union
from offsets_tool.relations.joined_rows import (
    distinct_rows,
    pages_of,
    rows_of_units,
    whole_offsets,
)
from offsets_tool.relations.row_events import COLUMNS
from offsets_tool.table_rows import EventRow
from offsets_tool.wire.arrow import arrow_schema

_EVENTS: Final = arrow_schema(EventRow)
_REMEDY: Final = "take one of them out with offsets-spark forget"


class JoinedRows:
    """The copies of one log partition in a lake, joined into one log; `left_out` is whole once `rows` is exhausted."""

    def __init__(self, copies: Sequence[LakeCopy], log_partition: int | None, end: int = NO_END) -> None:
        """Take the copies of a log partition; records at or behind the offset `end` are ignored, and prove nothing.

        Raise UsageError where nothing can join the copies: they are of two clusters, or do not say of which partition.
        """
        self._facts = [copy.facts for copy in copies]
        self._refuse(log_partition)
        self._having = _having(copies)
        self._log_partition, self._end = log_partition, end
        self.left_out = LeftOut()
        self.contradiction: Contradiction | None = None
        """Where the copies are of several histories; known as `left_out` is."""
        self.names = tuple(dict.fromkeys(facts.name for facts in self._facts))

    def rows(self, read: Callable[[], Iterable[pa.RecordBatch]]) -> Iterator[pa.RecordBatch]:
        """Yield the rows that count (row_events.COLUMNS), by offset; `read` gives all records (rows.RECORD_SCHEMA) in that order.

        They are read twice: what counts of copies that contradict each other is known only when all are read.
        """
        forks = Forks.of(self._distinct(read()))
        in_force = forks.in_force(self._facts) if forks else None
        self._facts = parted(self._facts, forks, in_force)
        lineage = Lineage((each.epoch, each.start) for copy in self._facts for each in copy.shared_epochs)
        moment = BranchEnd(lineage.branch(), self._end)
        joined = Union[RowRecord](self._facts, moment, None, self._log_partition)
        self.left_out = joined.left_out
        key_reader = lru_cache(KEYS_KEPT)(decode_key)
        for page in pages_of(joined.records(self._distinct(read()))):
            raw = zip(
                *(plain(page.column(name)).to_pylist() for name in ("key", "value", "is_control")),
                strict=True,
            )
            added = added_columns(raw, key_reader)
            yield pa.record_batch(
                [
                    pa.array(added[name], _EVENTS.field(name).type) if name in added else page.column(name)
                    for name in COLUMNS
                ],
                COLUMNS,
            )
        self.contradiction = contradiction_of(self._facts, in_force, joined.left_out, joined.doubted)

    def _refuse(self, log_partition: int | None) -> None:
        if differing := of_two_clusters(self._facts):
            raise UsageError(f"{differing}; {_REMEDY}, and ingest each with its own --cluster")
        if log_partition is None:
            names = " and ".join(dict.fromkeys(facts.name for facts in self._facts))
            raise UsageError(
                f"{names} each have a log, and nothing says of which partition; {_REMEDY}, and ingest each with --log-partition"
            )

    def _distinct(self, pages: Iterable[pa.RecordBatch]) -> Iterator[list[Distinct[RowRecord]]]:
        return distinct_rows(rows_of_units(rows, self._having, self._facts) for rows in whole_offsets(pages))


def _having(copies: Sequence[LakeCopy]) -> dict[tuple[str, int], int]:
    """Return by source and run the copies that have its records, a bit for each."""
    having: dict[tuple[str, int], int] = {}
    for number, copy in enumerate(copies):
        for unit in copy.units:
            having[unit] = having.get(unit, 0) | 1 << number
    return having
