"""What a piece of evidence is and covers: record kinds and versions, gaps, compaction, epochs, beside the ledger's sums.

Counts what it is shown, batch by batch and event by event; reads nothing and judges nothing.
"""

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from offsets_tool.events import Event
from offsets_tool.records import RECORD_TYPES
from offsets_tool.rows import Batch, BatchRead


@dataclass(slots=True)
class Survey:
    """Accumulates one part of the evidence.

    `kinds` counts records by kind and version, as in `OffsetCommit v3`, `GroupMetadata tombstone` or `control COMMIT`.
    `missing_offsets` are offsets between the first and the last that no record has: compaction, aborted data, damage.
    """

    kinds: Counter[str] = field(default_factory=Counter)
    groups: set[str] = field(default_factory=set)
    missing_offsets: int = 0
    delete_horizons: int = 0
    """Batches whose tombstones a cleaner has already marked for removal (KIP-534)."""
    transactional_batches: int = 0
    leader_epochs: Counter[int] = field(default_factory=Counter)
    _next_offset: int | None = None

    def see_batch(self, read: BatchRead) -> None:
        """A batch, in the order of the log."""
        batch = read.batch
        self.delete_horizons += batch.delete_horizon_ms is not None
        self.transactional_batches += batch.is_transactional
        self.leader_epochs[batch.partition_leader_epoch] += 1
        self._see_offsets(batch, len(read.records))

    def _see_offsets(self, batch: Batch, records: int) -> None:
        if self._next_offset is not None and batch.base_offset > self._next_offset:
            self.missing_offsets += batch.base_offset - self._next_offset
        self.missing_offsets += max(0, batch.last_offset - batch.base_offset + 1 - records)
        self._next_offset = batch.last_offset + 1

    def see_event(self, event: Event) -> None:
        """A decoded record."""
        self.kinds[kind_of(event)] += 1
        if event.group is not None:
            self.groups.add(event.group)

    def json(self) -> dict[str, Any]:
        """The sums as JSON values."""
        return {
            "kinds": dict(sorted(self.kinds.items())),
            "groups": len(self.groups),
            "missing_offsets": self.missing_offsets,
            "delete_horizons": self.delete_horizons,
            "transactional_batches": self.transactional_batches,
            "leader_epochs": sorted(self.leader_epochs),
        }


def kind_of(event: Event) -> str:
    """A record's kind in words: type and value version, with the layout where a version has several."""
    if event.record.is_control:
        return f"control {event.control.type if event.control else 'unreadable'}"
    if event.key is None:
        return "no key" if event.record.key is None else f"type {event.type_id}"
    if event.tombstone:
        return f"{event.key.type.name} tombstone"
    version = f"{event.key.type.name} v{event.value_version}"
    if event.value is not None and len(RECORD_TYPES[event.key.type.id].layouts) > 1:
        return f"{version} ({event.value.layout})"
    return version
