"""What finders read of a log partition as a whole: what of it could not be read, and how its copies differ.

Sums of the ledgers of its files (`of_ledgers`), and of what joining its copies left out. No records.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from offsets_tool.log.ledger import LedgerEntry


class PartitionFacts(NamedTuple):
    """One log partition: what was read of it, and what of that counts for nothing."""

    log_partition: int | None
    first_offset: int = 0
    """Lowest offset of its batches."""
    unreadable_ranges: int = 0
    unreadable_bytes: int = 0
    """Bytes between records that hold none that can be read; what a crash left at an end is not among them."""
    records_unreadable: int = 0
    """Records that unreadable batches said they had."""
    misplaced_records: int = 0
    misplaced_at: int | None = None
    """Offset that the first misplaced batch says it has; None without one."""
    raw_records: int = 0
    reasons: Mapping[str, int] = {}
    """Why records were not decoded, counted."""
    copies: int = 1
    abandoned: int = 0
    """Records that a later leader epoch left behind, and that count no more."""
    abandoned_at: int | None = None
    contradictions: int = 0
    """Offsets at which copies have different records of one leader epoch."""
    contradiction_at: int | None = None

    @property
    def group(self) -> None:
        """No group: a finding of these facts is about the log."""
        return None


def of_ledgers(log_partition: int | None, entries: Iterable[LedgerEntry]) -> PartitionFacts:
    """Return the facts of one partition from the ledgers of its files."""
    some = list(entries)
    lost = [found for entry in some for found in entry.unreadable if not found.kind.is_tail]
    misplaced = [found for entry in some for found in entry.misplaced_ranges]
    reasons: Counter[str] = Counter()
    for entry in some:
        reasons.update(entry.reasons)
    return PartitionFacts(
        log_partition,
        first_offset=min((entry.first_offset for entry in some if entry.first_offset is not None), default=0),
        unreadable_ranges=len(lost),
        unreadable_bytes=sum(found.size for found in lost),
        records_unreadable=sum(entry.records_unreadable for entry in some),
        misplaced_records=sum(found.records for found in misplaced),
        misplaced_at=min((found.first_offset for found in misplaced), default=None),
        raw_records=sum(entry.raw_records for entry in some),
        reasons=dict(reasons),
    )
