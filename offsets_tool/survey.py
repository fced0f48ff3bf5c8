"""What a piece of evidence is and covers: record kinds and versions, gaps, compaction, epochs, beside the ledger's sums.

It counts the batches and events that it is called with; it reads nothing and judges nothing.
"""

from collections import Counter
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from offsets_tool.events import Event
from offsets_tool.log.ledger import BatchRun
from offsets_tool.records import RECORD_TYPES
from offsets_tool.rows import BatchRead
from offsets_tool.wire.json import JsonObject

PROBLEMS: Final = 1_000
"""How many different problems of a part are told apart; records with others are counted."""


class Problem(NamedTuple):
    """Records with one and the same problem: how many, and the offsets of the first and the last of them.

    `kept_raw` says in few words why key or value stay undecoded; None where both are decoded nevertheless.
    """

    problem: str
    kept_raw: str | None
    log_partition: int | None
    records: int
    first_offset: int
    last_offset: int


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
    leader_epochs: set[int] = field(default_factory=set)
    problems: dict[tuple[str, str | None, int | None], Problem] = field(default_factory=dict)
    other_problems: int = 0
    """Records whose problem is none of `problems`, which are as many as are told apart."""
    _next_offset: int | None = None

    def observe_batch(self, read: BatchRead) -> None:
        """Count a batch; batches come in the order of the log."""
        batch = read.batch
        self.delete_horizons += batch.delete_horizon_ms is not None
        self.transactional_batches += batch.is_transactional
        self.leader_epochs.add(batch.partition_leader_epoch)
        if read.misplaced is None:
            missing = max(0, batch.last_offset - batch.base_offset + 1 - len(read.records))
            self._observe_offsets(batch.base_offset, batch.last_offset, missing)

    def observe_run(self, run: BatchRun, first_offset: int, last_offset: int) -> None:
        """Count many batches at once, given the first offset of the first and the last offset of the last."""
        self.delete_horizons += run.delete_horizons
        self.transactional_batches += run.transactional
        self.leader_epochs |= run.leader_epochs
        self._observe_offsets(first_offset, last_offset, run.missing_offsets)

    def _observe_offsets(self, first: int, last: int, missing: int) -> None:
        if self._next_offset is not None:
            self.missing_offsets += max(0, first - self._next_offset)
        self.missing_offsets += missing
        self._next_offset = last + 1

    def observe_event(self, event: Event) -> None:
        """Count a decoded record."""
        self.kinds[kind_of(event)] += 1
        if event.group is not None:
            self.groups.add(event.group)
        if event.problem is not None:
            self._observe_problem(event.problem, event)

    def _observe_problem(self, problem: str, event: Event) -> None:
        at = event.record.log_offset
        kind = (problem, event.kept_raw, event.record.log_partition)
        if kind in self.problems:
            found = self.problems[kind]
            self.problems[kind] = found._replace(records=found.records + 1, last_offset=at)
        elif len(self.problems) < PROBLEMS:
            self.problems[kind] = Problem(*kind, 1, at, at)
        else:
            self.other_problems += 1

    def json(self) -> JsonObject:
        """Return the sums as a JSON object."""
        return {
            "kinds": dict(sorted(self.kinds.items())),
            "groups": len(self.groups),
            "missing_offsets": self.missing_offsets,
            "delete_horizons": self.delete_horizons,
            "transactional_batches": self.transactional_batches,
            "leader_epochs": sorted(self.leader_epochs),
            "problems": [found._asdict() for found in self.problems.values()],
            "other_problems": self.other_problems,
        }


def kind_of(event: Event) -> str:
    """Return a record's kind in words: type and value version, with the layout where a version has several."""
    if event.record.is_control:
        return control_kind(event.control.type if event.control else None)
    if event.key is None:
        return unread_kind(event.type_id, no_key=event.record.key is None)
    type_id = event.key.type.id
    if event.tombstone:
        return tombstone_kind(type_id)
    return value_kind(type_id, event.value_version, event.value.layout if event.value else None)


def control_kind(type_: str | None) -> str:
    """Return the kind of a control record, given its type's name, or None if it does not read."""
    return f"control {type_ or 'unreadable'}"


def unread_kind(type_id: int | None, *, no_key: bool) -> str:
    """Return the kind of a record whose key does not read, given the number of its type, if it has a key."""
    return "no key" if no_key else f"type {type_id}"


def tombstone_kind(type_id: int) -> str:
    """Return the kind of a tombstone, given the number of its record type."""
    return f"{RECORD_TYPES[type_id].name} tombstone"


def value_kind(type_id: int, version: int | None, layout: str | None) -> str:
    """Return the kind of a value, given the number of its record type, its version and its layout."""
    kind = f"{RECORD_TYPES[type_id].name} v{version}"
    return f"{kind} ({layout})" if layout and len(RECORD_TYPES[type_id].layouts) > 1 else kind
