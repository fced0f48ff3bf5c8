"""The input of finders of log partitions: what could not be read, and how copies differ.

Sums of the ledgers of its files, as these are read (`of_ledgers`) or as a lake keeps them (`of_files`), and what joining its copies
left out. Looks at no records.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from offsets_tool.expiry.log_facts import TypeVersion, UnreadKeys, VersionRange
from offsets_tool.log.ledger import LedgerEntry
from offsets_tool.rows import UnreadableKind


class PartitionFacts(NamedTuple):
    """One log partition as a whole: sums over what was read, what was unreadable, and what was left out."""

    log_partition: int | None
    first_offset: int = 0
    """Lowest offset of its batches."""
    unreadable_ranges: int = 0
    unreadable_bytes: int = 0
    """Bytes between records that hold none that can be read; what a crash left at an end is not among them."""
    misplaced_records: int = 0
    misplaced_at: int | None = None
    """Offset that the first misplaced batch says it has; None without one."""
    unread: UnreadKeys | None = None
    """Records that may be about anything, as their keys were not understood; None if nobody counted them."""
    copies: int = 1
    abandoned: int = 0
    """Records that a later leader epoch left behind, and that count no more."""
    abandoned_at: int | None = None
    contradictions: int = 0
    """Offsets at which copies have different records of one leader epoch."""
    contradiction_at: int | None = None
    versions: Mapping[TypeVersion, VersionRange] = {}
    """Where records of which type and version are."""

    @property
    def group(self) -> None:
        """No group: a finding of these facts is about the log."""
        return None


class UnreadableBytes(NamedTuple):
    """A kind of unreadable range in files, and its number of bytes."""

    kind: UnreadableKind
    size: int


class FileSums(NamedTuple):
    """What finders ask of the ledger of one file, or of a part of it."""

    first_offset: int | None
    unreadable: Sequence[UnreadableBytes]
    misplaced_records: int
    misplaced_at: int | None


def of_ledgers(log_partition: int | None, entries: Iterable[LedgerEntry]) -> PartitionFacts:
    """Return the facts of one partition from the ledgers of its files."""
    return of_files(log_partition, map(_of_ledger, entries))


def _of_ledger(entry: LedgerEntry) -> FileSums:
    return FileSums(
        entry.first_offset,
        [UnreadableBytes(found.kind, found.size) for found in entry.unreadable],
        entry.misplaced.records if entry.misplaced else 0,
        entry.misplaced and entry.misplaced.first_offset,
    )


def of_files(log_partition: int | None, files: Iterable[FileSums]) -> PartitionFacts:
    """Return the facts of one partition from the sums of its files."""
    some = list(files)
    lost = [found.size for file in some for found in file.unreadable if not found.kind.is_tail]
    return PartitionFacts(
        log_partition,
        first_offset=min((file.first_offset for file in some if file.first_offset is not None), default=0),
        unreadable_ranges=len(lost),
        unreadable_bytes=sum(lost),
        misplaced_records=sum(file.misplaced_records for file in some),
        misplaced_at=min((file.misplaced_at for file in some if file.misplaced_at is not None), default=None),
    )
