"""The events of a log partition of which the lake has several copies, by the view of the evidence: what is known to have happened.

Rows of `log` become records that know which copies have them. What counts, which branch was left and which keys are proven to be
deleted is decided by offsets_tool.log.copies, as on the command line.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache, partial
from itertools import groupby
from operator import attrgetter
from typing import Final, NamedTuple

import pyarrow as pa

from offsets_tool.as_of.coverage import Contradiction
from offsets_tool.columns.columns_of_rows import plain
from offsets_tool.columns.decode import KEYS_KEPT
from offsets_tool.errors import UsageError
from offsets_tool.events import Event, KeyReader, decode, decode_key
from offsets_tool.evidence.joined_log import contradiction_of, of_two_clusters, parted, with_absences
from offsets_tool.lake.copies import LakeCopy
from offsets_tool.log.copies.forks import Forks
from offsets_tool.log.copies.lineage import NO_END, Lineage
from offsets_tool.log.copies.union import Distinct, distinct
from offsets_tool.log.copies.views import BranchEnd, LeftOut, Union
from offsets_tool.relations.row_events import PLACE, RAW, log_record
from offsets_tool.rows import Absence, LogRecord

_REMEDY: Final = "take one of them out with offsets-spark forget"


class LakeRecord(NamedTuple):
    """A record as a row of `log` has it."""

    source: str
    run: int
    epoch: int | None
    record: LogRecord


class JoinedRows:
    """The copies of one log partition in a lake, joined into one log; `left_out` is whole once `events` is exhausted."""

    def __init__(self, copies: Sequence[LakeCopy], log_partition: int | None, end: int = NO_END) -> None:
        """Take the copies of a log partition; records at or behind the offset `end` are ignored, and prove nothing.

        Raise UsageError where nothing can join the copies: they are of two clusters, or do not say of which partition.
        """
        self._facts = [copy.facts for copy in copies]
        self._refuse(log_partition)
        self._having = _having(copies)
        self._whole = sum(1 << number for number, facts in enumerate(self._facts) if facts.is_whole)
        self._log_partition, self._end = log_partition, end
        self.left_out = LeftOut()
        self.contradiction: Contradiction | None = None
        """Where the copies are of several histories; known as `left_out` is."""
        self.names = tuple(dict.fromkeys(facts.name for facts in self._facts))

    def events(self, read: Callable[[], Iterable[pa.RecordBatch]]) -> Iterator[Event]:
        """Yield the events that count, by offset; `read` gives all records (rows.RECORD_SCHEMA) in the order of their offsets.

        They are read twice: what counts of copies that contradict each other is known only when all are read.
        """
        forks = Forks.of(self._distinct(read()))
        in_force = forks.in_force(self._facts) if forks else None
        self._facts = parted(self._facts, forks, in_force)
        lineage = Lineage((each.epoch, each.start) for copy in self._facts for each in copy.shared_epochs)
        moment = BranchEnd(lineage.branch(), self._end)
        joined = Union[LakeRecord](self._facts, moment, None, self._log_partition)
        self.left_out = joined.left_out
        for_each = partial(_event, key_reader=lru_cache(KEYS_KEPT)(decode_key))
        yield from with_absences(map(for_each, joined.records(self._distinct(read()))))
        self.contradiction = contradiction_of(self._facts, in_force, joined.left_out, joined.doubted)

    def _refuse(self, log_partition: int | None) -> None:
        if differing := of_two_clusters(self._facts):
            raise UsageError(f"{differing}; {_REMEDY}, and ingest each with its own --cluster")
        if log_partition is None:
            names = " and ".join(dict.fromkeys(facts.name for facts in self._facts))
            raise UsageError(
                f"{names} each have a log, and nothing says of which partition; {_REMEDY}, and ingest each with --log-partition"
            )

    def _distinct(self, batches: Iterable[pa.RecordBatch]) -> Iterator[list[Distinct[LakeRecord]]]:
        for _, together in groupby(_records(batches), _log_offset):
            found = distinct(
                each for one in self._of_copies(sorted(together, key=attrgetter("source"))) for each in one
            )
            if found:
                yield found

    def _of_copies(self, together: Iterable[LakeRecord]) -> Iterator[Iterator[Distinct[LakeRecord]]]:
        """Yield each record at an offset with the copies that have it; of a copy, only the first of them counts."""
        known = 0
        for item in together:
            copies = self._having.get((item.source, item.run), 0) & ~known
            known |= copies
            yield self._by_epoch(item, copies)

    def _by_epoch(self, item: LakeRecord, copies: int) -> Iterator[Distinct[LakeRecord]]:
        """Yield the record with all undamaged copies by its own epoch, and with each damaged copy by the epoch of that copy."""
        if whole := copies & self._whole:
            yield Distinct(item, item.epoch, whole)
        for number, facts in enumerate(self._facts):
            if copies & ~self._whole & 1 << number:
                yield Distinct(item, facts.epoch_at(item.record.log_offset), 1 << number)


def _having(copies: Sequence[LakeCopy]) -> dict[tuple[str, int], int]:
    """Return by source and run the copies that have its records, a bit for each."""
    having: dict[tuple[str, int], int] = {}
    for number, copy in enumerate(copies):
        for unit in copy.units:
            having[unit] = having.get(unit, 0) | 1 << number
    return having


def _records(batches: Iterable[pa.RecordBatch]) -> Iterator[LakeRecord]:
    for batch in batches:
        names = ("source", "run", "partition_leader_epoch", *PLACE, *RAW)
        columns = (plain(batch.column(name)).to_pylist() for name in names)
        for source, run, epoch, *facts in zip(*columns, strict=True):
            yield LakeRecord(source, run, epoch, log_record(facts))


def _log_offset(item: LakeRecord) -> int:
    return item.record.log_offset


def _event(item: LakeRecord | Absence, key_reader: KeyReader) -> Event | Absence:
    return item if isinstance(item, Absence) else decode(item.record, key_reader)
