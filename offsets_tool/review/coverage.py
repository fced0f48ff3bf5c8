"""The coverage of an evidence: its files with hashes, whether the ledger adds up, its log partitions and what they lack."""

from collections.abc import Collection, Iterable, Sequence
from typing import NamedTuple

from offsets_tool.as_of.snapshot import PartitionSnapshot
from offsets_tool.evidence.filters import EVERYTHING, Filters, records_span, unreached
from offsets_tool.log.ledger import LedgerEntry
from offsets_tool.story.sentence import when


class CoveredPartition(NamedTuple):
    """The coverage of one log partition: which part of it the evidence has."""

    log_partition: int | None
    begins: int
    """Base offset of the first segment that is here."""
    end: int
    """The offset after the last record."""
    missing: int | None
    """Offsets before the end that have no record: compaction, segments that are not here, or damage; None unknown."""
    proven_from: int
    """Every record from this offset on is here."""
    is_damaged: bool
    newest_at: int | None
    """Time of the newest record, epoch milliseconds; None without one."""
    groups: int | None
    """Groups that are there at the end; None unknown."""
    contradicted_from: int | None = None
    """From where on copies contradict each other, so that records of some are left out; None where they do not."""


def covered(partition: PartitionSnapshot) -> CoveredPartition:
    """Return the coverage of a replayed log partition."""
    return CoveredPartition(
        partition.log_partition,
        partition.begins,
        partition.end,
        partition.coverage.missing,
        partition.coverage.proven_from,
        partition.is_damaged,
        partition.cut.newest_timestamp,
        len(partition.state.groups),
        partition.coverage.contradiction and partition.coverage.contradiction.log_offset,
    )


class RecordsReach(NamedTuple):
    """The files of an evidence and the range that was asked for: whether the records of the files reach it."""

    files: Sequence[LedgerEntry] = ()
    asked: Filters = EVERYTHING

    def of(self, log_partitions: Collection[int | None]) -> "RecordsReach":
        """Return the reach of the records of some log partitions; of all where none is named, or a file does not say its own."""
        files = [each for each in self.files if each.log_partition in log_partitions]
        is_known = all(each.log_partition is not None for each in self.files)
        return self._replace(files=files) if files and is_known else self

    def unreached(self) -> str | None:
        """Return the note that no record is from the range; None where some may be."""
        return unreached(self.asked, self.files)

    def coverage(self, completeness: Iterable[str]) -> list[str]:
        """Return sentences on what the records cover: their times, and their `completeness` where they reach the range."""
        span = records_span(self.files)
        times = [] if span is None else [f"The records here are from {when(span[0])} to {when(span[1])}."]
        return [*times, *(() if self.unreached() else completeness)]


class EvidenceCoverage(NamedTuple):
    """The files that were read, and the coverage of each log partition."""

    files: Sequence[LedgerEntry]
    partitions: Sequence[CoveredPartition]
    sentences: Sequence[str]
    """From where on it is complete, in words."""
    notes: Sequence[str]
    """What was noted while it was read and replayed."""
    server_logs: Sequence[str] = ()
    """Names of brokers' own logs that were read beside it."""


def ledger_total(entries: Sequence[LedgerEntry]) -> str:
    """Return one line with the sums of all ledgers, and whether all of them add up."""
    sums = {name: sum(getattr(e, name) for e in entries) for name in ("bytes", "batches", "records")}
    kept = sum(entry.raw_records for entry in entries)
    verdict = (
        "the ledger adds up" if all(entry.adds_up for entry in entries) else "THE LEDGER DOES NOT ADD UP"
    )
    return (
        f"{len(entries)} file(s), {sums['bytes']:,} bytes, {sums['batches']:,} batches, {sums['records']:,} records, "
        f"{kept:,} kept raw, {sum(e.bytes_unreadable for e in entries):,} bytes unreadable: {verdict}"
    )
