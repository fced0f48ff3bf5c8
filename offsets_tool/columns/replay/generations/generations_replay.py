"""Replays records of classic groups at once, for histories: each is a generation with all its members.

Only where the group goes on as it is, and nothing else was written with the record: others are replayed as changes, one by one.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

import numpy as np
import pyarrow as pa

from offsets_tool.columns.arrays import Array
from offsets_tool.columns.replay.columns_of_rows import are_there, flags, numbers, plain
from offsets_tool.columns.replay.compiled.tables import Kind
from offsets_tool.columns.replay.generations.generation_members import GenerationMembers
from offsets_tool.columns.replay.history_rows_replay import HistoryRowsReplay
from offsets_tool.columns.replay.row_events import ExpectedEvents
from offsets_tool.events import Event
from offsets_tool.expiry.removal_log import RemovalLog
from offsets_tool.history.history import History
from offsets_tool.history.transactions import TransactionLog
from offsets_tool.records.kinds import GROUP_METADATA
from offsets_tool.replay.changes import Change, ChangeKind, GroupOf, MemberOf
from offsets_tool.replay.classic import Generation, next_generation, put_generation
from offsets_tool.replay.coordinator import Coordinator
from offsets_tool.replay.rules import proves_new
from offsets_tool.rows import NO_PRODUCER_ID, NO_TIMESTAMP

_GROUP_KEY: Final = GROUP_METADATA.to_bytes(2, "big")
"""How the key of a classic group begins."""


class GenerationsReplay(HistoryRowsReplay):
    """A HistoryRowsReplay whose rows of members that ended are columns, but for those of unusual records."""

    def __init__(
        self, coordinator: Coordinator, history: History, removals: RemovalLog, transactions: TransactionLog
    ) -> None:
        """Start with what these know."""
        super().__init__(coordinator, history, removals, transactions)
        self.events: list[Event] = []
        """The events that were replayed at once, of the rows that were replayed last: `replay` does not yield them."""
        self._members = GenerationMembers(history)
        self._are_sole: Array = np.zeros(0, bool)

    def choose(self, rows: pa.RecordBatch, kinds: Array) -> None:
        """Choose as others do, and find the values of classic groups that were written alone."""
        super().choose(rows, kinds)
        self.events = []
        self._are_sole = _are_sole_values(rows, self.writes)

    def replay_write(self, table: Array, row: int, events: ExpectedEvents) -> int:
        """Replay a generation at once; a write of tombstones as others do."""
        if not self._are_sole[row]:
            return super().replay_write(table, row, events)
        event = events.at(row)
        made = self._next_generation(event)
        if made is None:
            return row
        self._replay_generation(event, made)
        self.events.append(event)
        self.kinds[row] = Kind.PASSED
        return row + 1

    def _next_generation(self, event: Event) -> Generation | None:
        """Return what an event does; None if it has to be replayed alone."""
        record = event.record
        at = record.log_offset if record.batch is None else record.batch.base_offset
        if event.value is None or event.kept_raw is not None:
            return None
        if self.history.is_next_of_write(at, record.timestamp) or (self.is_unproved and proves_new(event)):
            return None
        return next_generation(self.coordinator.state, event)

    def _replay_generation(self, event: Event, made: Generation) -> None:
        self.end_write()
        record, state, name = event.record, self.coordinator.state, made.after.group
        group = self.store.subjects.groups.number(name)
        if group is not None:
            self.store.materialize_change_time(group)
        at = record.log_offset if record.batch is None else record.batch.base_offset
        place = self.coordinator.log_partition, record.log_offset, record.timestamp, at
        change = Change(*place, ChangeKind.SET, GroupOf(name), made.before, made.after)
        self._members.replay(change, made, state.members.get(name, ()))
        put_generation(state, made)
        members = state.members.get(name, {})
        self.removals.observe_change(change)
        self.removals.tracker.state.put_members(name, members)
        self.keep_changes(self.history.observe_alone(change))
        self.history.owners.put_members(name, members)
        self.raise_stamp(name)

    def observe(self, event: Event, changes: Iterable[Change]) -> None:
        """Pass an event that was replayed alone to the observers; History has all rows of its groups then."""
        made = tuple(changes)
        for change in made:
            if isinstance(change.subject, GroupOf | MemberOf):
                self._members.give_back(change.subject.group)
        super().observe(event, made)

    def materialize_others(self) -> Coordinator:
        """Return the coordinator; History has all open rows then, but those of the committed offsets in the tables."""
        self._members.give_all_back()
        return super().materialize_others()

    def take_members(self) -> list[pa.RecordBatch]:
        """Return, once, the rows of member_history that ended by column."""
        return self._members.take_ended()


def _are_sole_values(rows: pa.RecordBatch, writes: Array) -> Array:
    """Return which rows are values of classic groups whose changes no other row of their write has a part in.

    `writes` has the batch of each row. The last write may go on behind these rows; what came before is
    known to History.
    """
    found: Array = np.zeros(rows.num_rows, bool)
    places = np.flatnonzero(~are_there(rows.column("topic")) & ~flags(rows.column("is_control")))
    if not len(places):
        return found
    few = rows.select(["key", "value", "is_transactional", "producer_id"]).take(pa.array(places))
    groups = np.fromiter(_groups_of(plain(few.column("key")).to_pylist()), np.int64)
    found[places] = are_there(few.column("value")) & ~flags(few.column("is_transactional"))
    found[places] &= (groups >= 0) & (numbers(few.column("producer_id"), NO_PRODUCER_ID) == NO_PRODUCER_ID)
    times = rows.column("timestamp").to_numpy()
    is_apart = writes[1:] != writes[:-1]
    # Records of one time are one write, whatever their batches.
    is_later = (times[1:] != times[:-1]) | (times[1:] == NO_TIMESTAMP)
    write = np.append(0, np.cumsum(is_apart & is_later))
    found[1:] &= is_apart
    found[:-1] &= is_apart
    found &= ~np.isin(write, [write[-1], *write[places[groups < 0]]])
    # What happens in it to another classic group is nothing to this one.
    order = np.lexsort((places, groups, write[places]))
    is_same = (np.diff(groups[order]) == 0) & (np.diff(write[places][order]) == 0)
    found[places[order[:-1][is_same]]] = False
    return found


def _groups_of(keys: Sequence[bytes | None]) -> Iterator[int]:
    """Yield a number of the classic group that each key is of; -1 for other keys."""
    known: dict[bytes, int] = {}
    for key in keys:
        if key is None or not key.startswith(_GROUP_KEY):
            yield -1
        else:
            # Kafka ignores what follows the name.
            end = len(_GROUP_KEY) + 2 + int.from_bytes(key[2:4], "big")
            yield known.setdefault(key[:end], len(known))
