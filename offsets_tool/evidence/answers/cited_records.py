"""Reads the records at given places of the log once more and decodes them: those that a finding or a sentence names.

Of several copies it returns each distinct record at a place. It counts nothing in a ledger.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from offsets_tool.events import Event, decode
from offsets_tool.evidence.evidence import Evidence
from offsets_tool.evidence.sources import Source, records_of
from offsets_tool.log.ledger import LedgerEntry
from offsets_tool.log.segment import batches_with
from offsets_tool.rows import LogRecord

_Wanted = Mapping[int | None, frozenset[int]]
"""Log offsets by log partition."""
CitedPlace = tuple[int | None, int]
"""A log partition and an offset in it; None where nothing says the partition's number."""


def cited_records(evidence: Evidence, places: Iterable[CitedPlace]) -> dict[CitedPlace, list[Event]]:
    """Return the events at these places, in the order of the sources; a place that no source has is left out.

    Call it while the sources are open, after the evidence was read: its ledgers say which sources need not be read again.
    """
    offsets: dict[int | None, set[int]] = defaultdict(set)
    for log_partition, log_offset in places:
        offsets[log_partition].add(log_offset)
    wanted = {number: frozenset(some) for number, some in offsets.items()}
    ledgers = {entry.source: entry for entry in evidence.ledgers}
    found: dict[CitedPlace, list[Event]] = defaultdict(list)
    for source in evidence.all_sources:
        for record in _records(source, wanted, ledgers.get(source.name)):
            there = found[record.log_partition, record.log_offset]
            if not any(_is_same(record, each.record) for each in there):
                there.append(decode(record))
    return dict(found)


def _is_same(one: LogRecord, other: LogRecord) -> bool:
    return (one.key, one.value, one.timestamp) == (other.key, other.value, other.timestamp)


def _records(source: Source, wanted: _Wanted, ledger: LedgerEntry | None) -> Iterator[LogRecord]:
    """Yield the wanted records of a source; of a segment, read only batches that may have one of them."""
    offsets = wanted.get(source.log_partition, _NONE)
    if source.stored is not None:
        items: Iterable[object] = source.stored.records(offsets)
    elif source.segment is None:
        items = source.read(source.ledger(), True)
    else:
        if ledger is not None and not _may_have(ledger, offsets):
            return
        lacking = source.ledger()
        items = source.or_lost(batches_with(source.segment, offsets, source.limits), lacking)
    for item in items:
        for record in records_of(item):  # type: ignore[arg-type]
            if record.log_offset in wanted.get(record.log_partition, _NONE):
                yield record


def _may_have(ledger: LedgerEntry, offsets: frozenset[int]) -> bool:
    if ledger.first_offset is None or ledger.last_offset is None:
        return False
    return any(ledger.first_offset <= each <= ledger.last_offset for each in offsets)


_NONE: Final[frozenset[int]] = frozenset()
