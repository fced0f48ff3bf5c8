"""The histories of one log partition, chunk by chunk: offsets as a set, groups and members by their records, joined.

A chunk is cut where surely no write of Kafka's goes on, because what a record did may depend on what was written with it; what
lies behind the cut waits for the next chunk. Open rows are carried on. `replay` and `history` are what tests hold this against.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import chain
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from offsets_tool.checkpoint import Observers, packed, restore, seal, understanding
from offsets_tool.columns.arrays import Array
from offsets_tool.columns.columns_of_rows import behind_gaps, plain
from offsets_tool.errors import SourceError
from offsets_tool.events import Event
from offsets_tool.expiry.lifetimes import Lifetimes
from offsets_tool.expiry.log_facts import LogFacts
from offsets_tool.expiry.removals import DroppedCommit, Removal
from offsets_tool.expiry.rows import RemovalRow, removal_rows
from offsets_tool.history.history import History
from offsets_tool.history.owners import NameOf
from offsets_tool.history.row_builders import anomaly_row
from offsets_tool.history.rows import AnomalyRow, OffsetBeginCause, OffsetHistoryRow
from offsets_tool.history.transactions import TransactionRow
from offsets_tool.relations.carried import (
    Carried,
    LiveState,
    lifetimes_of,
    nothing_carried,
    pack,
    put_open,
    unpack,
)
from offsets_tool.relations.chunks import (
    HistoryChunk,
    ReplayedChunk,
    StateChanges,
    absent_transactions,
    anomalies,
    are_doubtful,
    are_unsure,
    depend_on_rules,
    in_transactions,
)
from offsets_tool.relations.group_histories import NO_GROUPS, GroupRelation, GroupTables
from offsets_tool.relations.group_values import GroupChunk, GroupInputs
from offsets_tool.relations.groups import (
    Answers,
    GroupChanges,
    GroupEvent,
    GroupReplay,
    NoQuestions,
)
from offsets_tool.relations.kafka_writes import (
    GroupEnd,
    groups_gone,
    last_cut,
    with_group_ends,
    write_numbers,
)
from offsets_tool.relations.lifetimes import RowLifetimes
from offsets_tool.relations.offsets import (
    CAUSES,
    HIDDEN,
    NEVER,
    PLAIN,
    Begun,
    Holdings,
    OpenCommits,
    Past,
    Pieces,
    begun,
    pieces_of,
)
from offsets_tool.relations.owners import OwnerJoin
from offsets_tool.relations.removals import RemovalInputs, RemovalRelation, groups_with_tombstones
from offsets_tool.relations.replays import HistoryRows, ReplayEnd, ShownNames, Start
from offsets_tool.relations.row_events import COLUMNS, records_of
from offsets_tool.relations.row_facts import observe_rows, observe_values
from offsets_tool.relations.transactions import (
    NO_MARKER,
    NO_TRANSACTIONS,
    Markers,
    Transactions,
    by_markers,
    ended_transactions,
    entries_of,
    joined,
    no_markers,
    open_transactions,
    read_entries,
    read_markers,
    transaction_rows,
    transactions,
)
from offsets_tool.relations.visibility import Presence, late, presences, with_visibility
from offsets_tool.relations.writes import (
    NONE,
    REMOVALS,
    TRANSACTION_ENDS,
    OffsetAction,
    WriteReader,
    Writes,
)
from offsets_tool.replay.changes import Change
from offsets_tool.replay.coordinator import Coordinator
from offsets_tool.replay.rules import Rules
from offsets_tool.rows import NO_PRODUCER_ID
from offsets_tool.wire.arrow import arrow_schema, shown_batch

_OFFSETS: Final = arrow_schema(OffsetHistoryRow)
_BEGAN: Final = pa.array([cause.value for cause in OffsetBeginCause])
_ENDED: Final = pa.array([cause.value for cause in CAUSES])
_ENDS: Final = ("to_log_offset", "to_timestamp", "end_cause")


class Histories:
    """The histories of one log partition: `replay` takes its rows in order and returns the rows of history that they ended.

    Rows of history that hold, and what waits for rows that may have been written with it, come with `leave`.
    """

    def __init__(self, start: Start, name_of: NameOf | None = None, *, is_for_state: bool = False) -> None:
        """Start where `start` says. SourceError for a checkpoint that does not read.

        `name_of` returns the name of a topic id; without it, the names of `start` count. If it `is_for_state`, `replay_state` takes
        the rows.
        """
        self._log_partition = start.log_partition
        self._names = ShownNames(start.names)
        self._name_of = name_of or self._names.name
        self._reader = WriteReader()
        self._subjects = self._reader.subjects
        self._coordinator = Coordinator(start.log_partition, start.rules)
        self._history = History(self._name_of)
        self.facts = LogFacts()
        """What the rows say of release, rules and policy."""
        self._observed_to = 0
        """Where the first record stands whose facts are not known yet."""
        carried = nothing_carried() if start.checkpoint is None else self._restored(start, start.checkpoint)
        state = self._coordinator.state
        self._group_rows = GroupRelation(self._history, start.log_partition, state.groups)
        self._owners = OwnerJoin(self._name_of, self._reader, state)
        self._removals = RemovalRelation(start.log_partition, carried.removals)
        # No method of its own: a cycle would keep all that was replayed until Python looks for such.
        self._observe_event = partial(_observe_event, self.facts, self._observed_to)
        self._groups = GroupReplay(self._coordinator, self._observe_event, is_for_state=is_for_state)
        self._waiting = carried.waiting
        self._open = OpenCommits()
        open_ = self._owners.renumbered(carried.open, carried.owners, carried.topic_ids)
        self._open.put_table(open_, self._reader)
        self._transactions = entries_of(carried.transactions, self._subjects.groups)

    def _restored(self, start: Start, checkpoint: bytes) -> Carried:
        """Go on where an earlier replay was left; return what it carried."""
        saved = restore(checkpoint, start.source, self._name_of)
        assert saved.observers is not None
        self._coordinator, self._observed_to = saved.coordinator, saved.position
        self._history, self.facts = saved.observers.history, saved.observers.log_facts
        self._log_partition = saved.coordinator.log_partition
        if start.rules is not None:
            # Learnt since: so far, both rules came to the same.
            self._coordinator.rules, self._coordinator.auto = start.rules, False
        with understanding(start.source):
            return unpack(saved.offsets)

    def _saved(self) -> tuple[str, Carried]:
        """Return what a checkpoint has besides its position and the facts of the log, before rows that wait are looked at."""
        removals = self._removals.saved
        carried = Carried(
            *self._owners.carried(self._open.table(self._reader)),
            self._waiting,
            open_transactions(self._transactions, self._subjects.groups),
            removals._replace(changed=dict(removals.changed)),
        )
        self._group_rows.give()
        body = packed(self._coordinator, Observers(self._history, self.facts, Lifetimes(), {}))
        self._group_rows.take()
        return body, carried

    def replay(self, rows: pa.RecordBatch) -> HistoryRows:
        """Return the rows of history that these rows (row_events.COLUMNS) ended, and anomalies, as far as that is certain."""
        return self._rows_of(self.advance(rows))

    def leave(self, end: int = 0) -> ReplayEnd:
        """Return the end of the replay; call it once, after all rows. Records up to `end` count as read, even if none came."""
        body, carried = self._saved()
        settled = self._waiting.column("log_offset")[0].as_py() if self._waiting else self._history.settled
        last, held = self.finish()
        ended, last = _ended_before(settled, last)
        # What the rows that wait made complete is told by now.
        open_ = [removal for removal in carried.removals.open if removal in self._removals.saved.open]
        carried = carried._replace(removals=carried.removals._replace(open=open_))
        position = max(end, self._history.settled)
        self.facts.observe_end(position)
        return ReplayEnd(
            ended=ended,
            rows=HistoryRows(*map(pa.concat_batches, zip(last, held, strict=True))),
            settled=settled,
            position=position,
            proven_from=self.facts.proven_from,
            checkpoint=seal(position, self.facts, body, pack(carried)),
            rules=self._coordinator.rules,
            proved_at=self._coordinator.proved_at,
            differed_at=self._coordinator.differed_at,
            unnamed=tuple(sorted(self._names.missing)),
        )

    def finish(self) -> tuple[HistoryRows, HistoryRows]:
        """Return the rows that the last rows of the log ended, and those that hold; call it once, after all rows."""
        last = self._rows_of(self.advance(None))
        held = self._open.all()
        offsets = self._offset_rows(held.taken(np.flatnonzero(held.rows.is_read)), {})
        of = transactions(self._transactions, no_markers())
        open_ = transaction_rows(of, no_markers(), self._subjects.groups, self._log_partition)
        removals = self.removal_rows(self._removals.saved.open, are_open=True)
        return last, _rows(offsets, self._group_rows.open_rows(), removals, open_)

    def removal_rows(
        self, removals: Sequence[Removal | DroppedCommit], *, are_open: bool = False
    ) -> list[RemovalRow]:
        """Return rows of removals, which later records may still extend if they are open."""
        return list(removal_rows(removals, are_open=are_open))

    def observe_changes(self, changes: Iterable[Change]) -> None:
        """Observe anomalies, among changes that records of groups made."""

    def replay_state(self, rows: pa.RecordBatch) -> StateChanges:
        """Replay rows for `live_state` alone, without their histories and when groups changed.

        If this `is_for_state`, values of groups that later ones replace are not looked at: what they do is not returned, and what
        is impossible of them is not said.
        """
        if not rows.num_rows:
            return StateChanges([], [], iter(()))
        rows = rows.select(COLUMNS)
        is_new, proved = self._rules_of(rows)
        if proved:
            # Values may wait where the same rules hold for all.
            return self.replay_state(rows.slice(0, proved)).and_then(self.replay_state(rows.slice(proved)))
        self._observe_rows(rows)
        chunk = self._read(rows, is_new)
        of_groups = self._changes(chunk, self._group_records(chunk), NoQuestions(), proved)
        ended = self._end_transactions(chunk, of_groups.events)
        lifetimes = RowLifetimes(chunk.writes, chunk.past, chunk.pieces, are_doubtful(chunk))
        self._carry(chunk, chunk.pieces, lifetimes, np.zeros(len(chunk.writes.action), np.int64))
        changes = (change for event in of_groups.events for change in event.changes if change.is_anomaly)
        of_commits = (change for _, change in anomalies(chunk, self._subjects, self._log_partition))
        impossible = [*changes, *of_commits]
        return StateChanges(impossible, of_groups.all, ended_transactions(*ended[:2], self._subjects.groups))

    def live_state(self) -> LiveState:
        """Return all that the coordinator holds, and how long offsets have lived; call it once, after `finish` or all rows."""
        coordinator = self.end_state()
        lifetimes = lifetimes_of(self._open.all(), self._reader)
        return LiveState(coordinator, lifetimes, self._removals.saved.changed)

    def end_state(self) -> Coordinator:
        """Return the coordinator with all that it holds; call it once, after `finish` or all rows."""
        # With its rows: they say when groups changed.
        self._rows_of(self.advance(None))
        self._groups.finish()
        of_transactions = open_transactions(self._transactions, self._subjects.groups)
        put_open(self._coordinator.state, self._open.all(), self._reader, of_transactions)
        return self._coordinator

    def advance(self, rows: pa.RecordBatch | None) -> ReplayedChunk | None:
        """Replay rows (row_events.COLUMNS), but for the last ones: they wait for what may have been written with them.

        Behind all rows, None stands for those that wait. Return what was replayed now, if anything was.
        """
        waiting, self._waiting = self._waiting, None
        if rows is not None:
            waiting = joined_rows(waiting, rows.select(COLUMNS))
            end = last_cut(waiting)
            waiting, self._waiting = waiting.slice(0, end), waiting.slice(end)
        return self._replayed(waiting) if waiting else None

    def _replayed(self, rows: pa.RecordBatch) -> ReplayedChunk:
        """Return what rows came to; all records that Kafka wrote at once must be among them."""
        self._observe_rows(rows)
        is_new, proved = self._rules_of(rows)
        chunk = self._read(rows, is_new)
        groups = chunk.writes.group[chunk.pieces.commit]
        state = self._coordinator.state
        was_there = set(state.groups)
        before = state.of_groups(groups_with_tombstones(chunk.writes, self._subjects))
        of_groups, owners = self._replay_groups(chunk, proved)
        over, markers, ending = self._end_transactions(chunk, of_groups.events)
        of_writes = write_numbers(rows, chunk.writes, chunk.pieces, of_groups, ending)
        lifetimes = RowLifetimes(chunk.writes, chunk.past, chunk.pieces, are_doubtful(chunk))
        ends = groups_gone(of_groups.events, of_writes)
        pieces = with_group_ends(chunk.pieces, groups, of_writes, self._by_number(ends))
        turned = presences(of_groups.all, of_writes, ends, was_there)
        present = self._presences(chunk, groups, turned, was_there)
        pieces = with_visibility(chunk.writes, pieces, chunk.past.visibility, present, of_writes)
        self._carry(chunk, pieces, lifetimes, owners)
        return ReplayedChunk(chunk, pieces, owners, of_groups, of_writes, lifetimes, before, over, markers)

    def _rows_of(self, replayed: ReplayedChunk | None) -> HistoryRows:
        """Return the rows that a chunk ended, and anomalies."""
        if replayed is None:
            return NOTHING
        chunk, pieces, owners, of_groups, of_writes, lifetimes, before, over, markers = replayed
        group_tables = self._group_rows.advance(of_groups.all, of_writes)
        of_commits = [change for _, change in anomalies(chunk, self._subjects, self._log_partition)]
        group_tables.anomalies.extend(map(anomaly_row, of_commits))
        self.observe_changes(chain(of_commits, *(event.changes for event in of_groups.events)))
        inputs = RemovalInputs(
            chunk.rows,
            chunk.writes,
            chunk.pieces,
            lifetimes,
            of_groups,
            before,
            of_writes != NONE,
            self._reader,
        )
        removals = self.removal_rows(self._removals.advance(inputs))
        offsets = self._ended_offsets(chunk, pieces, owners)
        ended = transaction_rows(over, markers, self._subjects.groups, self._log_partition)
        return _rows(offsets, group_tables, removals, ended)

    def _observe_rows(self, rows: pa.RecordBatch) -> None:
        """Observe where records stand, and the facts of those that an earlier replay did not observe."""
        rows = records_of(rows)
        if not rows.num_rows:
            return
        log_offsets = rows.column("log_offset").to_numpy()
        behind = behind_gaps(log_offsets)
        self._history.observe_run(
            int(log_offsets[0]), int(log_offsets[-1]) + 1, int(behind[0]) if len(behind) else None
        )
        new = int(np.searchsorted(log_offsets, self._observed_to))
        if new == len(log_offsets):
            return
        behind = behind_gaps(log_offsets[new:])
        last = int(behind[-1]) if len(behind) else None
        self.facts.observe_offsets(int(log_offsets[new]), int(log_offsets[-1]), last)
        observe_rows(self.facts, rows.slice(new))

    def _observe_values(self, chunk: HistoryChunk, of_groups: GroupChanges) -> None:
        """Observe the facts of values that were replayed at once, unless an earlier replay did."""
        rows = np.array(of_groups.places, np.int64) - chunk.writes.carried
        log_offsets, times = (
            chunk.rows.column(name).to_numpy()[rows] for name in ("log_offset", "timestamp")
        )
        new = np.flatnonzero(log_offsets >= self._observed_to)
        kinds, is_new = [of_groups.values[index] for index in new.tolist()], self._groups.is_new
        observe_values(self.facts, kinds, log_offsets[new], times[new], is_new=is_new)

    def _rules_of(self, rows: pa.RecordBatch) -> tuple[Array, int | None]:
        """Return which rows the new rules hold for, and the row that proves them."""
        is_new = np.full(rows.num_rows, self._coordinator.rules is Rules.NEW)
        if not self._coordinator.auto or self._coordinator.proved_at is not None:
            return is_new, None
        proved = self._reader.first_proof(rows)
        if proved is not None:
            is_new[proved:] = True
        return is_new, proved

    def _read(self, rows: pa.RecordBatch, is_new: Array) -> HistoryChunk:
        # What was made of the chunk before may have its metadata.
        self._open.forget_metadata(self._reader.metadata)
        said, decoded = self._reader.read(rows, is_new)
        for event in decoded.values():
            self._observe_event(event)
        unread = {row: event for row, event in decoded.items() if event.kept_raw is not None}
        problems = {row: event.problem or "" for row, event in unread.items()}
        producers = said.producer[said.of(*TRANSACTION_ENDS)]
        carried, past = self._open.taken(self._touched(rows, said), producers)
        writes = said.behind(carried)
        return HistoryChunk(rows, writes, past, pieces_of(writes), are_unsure(rows, writes), problems)

    def _touched(self, rows: pa.RecordBatch, said: Writes) -> Array:
        """Return by committed offset, and last of none, whether rows may change it, but for markers.

        These are the offsets that rows are about, and all of a group that may come or go, or lose some.
        """
        subjects, names = self._subjects, self._subjects.groups.texts
        counts = np.bincount(said.group + 1, minlength=len(names) + 1)[1:]
        came = [
            group
            for group in np.flatnonzero(counts).tolist()
            if names[group] not in self._coordinator.state.groups
        ]
        removals = said.group[said.of(*REMOVALS)]
        is_whole = np.zeros(len(names), bool)
        is_whole[np.concatenate((removals, self._reader.groups_named(rows), np.array(came, np.int64)))] = True
        is_touched = np.append(is_whole[subjects.group_of], False)
        is_touched[said.subject] = True
        is_touched[NONE] = False
        return is_touched

    def _replay_groups(self, chunk: HistoryChunk, proved: int | None) -> tuple[GroupChanges, Array]:
        """Return what records did to groups, and the number of the owner at each commit, by place."""
        records = self._group_records(chunk)
        questions = self._owners.ask(chunk.writes, records.places, records.groups)
        return self._changes(chunk, records, questions, proved), questions.numbers()

    def _group_records(self, chunk: HistoryChunk) -> GroupChunk:
        writes, pieces = chunk.writes, chunk.pieces
        groups = writes.group[pieces.commit]
        holdings = Holdings(groups, pieces.begin, pieces.end, len(writes.action) + 1)
        return self._groups.read(GroupInputs(chunk.rows, writes, self._subjects.groups, holdings))

    def _changes(
        self, chunk: HistoryChunk, records: GroupChunk, questions: Answers, proved: int | None
    ) -> GroupChanges:
        """Return what records did to groups, and observe facts of theirs."""
        place = None if proved is None else proved + chunk.writes.carried
        is_open = self._coordinator.proved_at is None
        changes = self._groups.replay(records, questions, place)
        self._observe_values(chunk, changes)
        if is_open:
            self._observe_differences(chunk, place)
        return changes

    def _observe_differences(self, chunk: HistoryChunk, proved: int | None) -> None:
        """Observe where what offsets came to depends on the rules, before the place that proves them."""
        places = np.flatnonzero(depend_on_rules(chunk))
        if len(places) and (proved is None or places[0] < proved):
            log_offset = chunk.rows.column("log_offset")[int(places[0]) - chunk.writes.carried].as_py()
            known = self._coordinator.differed_at
            self._coordinator.differed_at = log_offset if known is None else min(known, log_offset)

    def _end_transactions(
        self, chunk: HistoryChunk, events: Sequence[GroupEvent]
    ) -> tuple[Transactions, Markers, Array]:
        """Return the transactions that ended, the markers, and the places of those that ended any."""
        places = in_transactions(chunk, events)
        of_markers = chunk.writes.of(OffsetAction.COMMIT_MARKER, OffsetAction.ABORT_MARKER)
        ends = np.union1d(of_markers, absent_transactions(chunk))
        if not len(places) and not len(ends):
            return NO_TRANSACTIONS, no_markers(), ends
        entries = joined(self._transactions, read_entries(chunk.rows, chunk.writes, places))
        before = len(self._transactions.producer_id) + np.searchsorted(places, ends)
        markers = read_markers(chunk.rows, chunk.writes, ends, before)
        of = transactions(entries, markers)
        self._transactions = of.carried
        over = of.taken(np.flatnonzero(of.marker != NO_MARKER))
        return *by_markers(over, markers), ends[np.unique(over.marker)]

    def _by_number(self, ends: Sequence[GroupEnd]) -> dict[tuple[int, int], int]:
        """Return the places of ends by write and number of the group, of groups that commit offsets and that a record deleted."""
        names = self._subjects.groups
        known = ((end.write, names.number(end.group), end.place) for end in ends if not end.is_absence)
        return {(write, number): place for write, number, place in known if number is not None}

    def _presences(
        self, chunk: HistoryChunk, groups: Array, turned: Mapping[str, Presence], was_there: set[str]
    ) -> dict[int, Presence]:
        """Return by number the groups that hid offsets or may do so: those that went, and those that were not there at a marker."""
        names = self._subjects.groups.texts
        is_hidden = chunk.past.visibility == HIDDEN
        of_hidden = chunk.writes.group[: chunk.writes.carried][is_hidden]
        absent = {
            names[number] for number in np.unique(groups[late(chunk.writes, chunk.pieces)]).tolist()
        } - was_there
        went = {group for group, presence in turned.items() if any(turn.is_end for turn in presence.turns)}
        wanted = {*went, *absent, *(names[number] for number in np.unique(of_hidden).tolist())}
        known = ((self._subjects.groups.number(name), name) for name in wanted)
        return {
            number: turned.get(name, Presence(name in was_there, ()))
            for number, name in known
            if number is not None
        }

    def _carry(self, chunk: HistoryChunk, pieces: Pieces, lifetimes: RowLifetimes, owners: Array) -> None:
        """Carry on the rows of offset_history that hold; `owners` are by place."""
        owners[: chunk.writes.carried] = chunk.past.owner
        held = pieces.by_commit(pieces.end == NEVER)
        rows, known = begun(chunk.writes, chunk.past, held, owners)
        self._open.put(Begun(rows, Past(*known[:4], *lifetimes.of_open(held.commit))))

    def _ended_offsets(self, chunk: HistoryChunk, pieces: Pieces, owners: Array) -> pa.Table:
        """Return the rows of offset_history that ended; `owners` are by place."""
        writes, past = chunk.writes, chunk.past
        over = pieces.by_commit((pieces.end != NEVER) & writes.is_read[pieces.commit])
        # A row that ends where it begins was never to be seen.
        is_seen = writes.log_offset[over.begin] != writes.log_offset[over.end]
        over = over if is_seen.all() else over.taken(is_seen)
        ends = {
            "to_log_offset": pa.array(writes.log_offset[over.end]),
            "to_timestamp": pa.array(writes.timestamp[over.end]),
            "end_cause": _texts(_ENDED, over.cause),
        }
        return self._offset_rows(begun(writes, past, over, owners), ends)

    def _offset_rows(self, begun_rows: Begun, ends: Mapping[str, pa.Array]) -> pa.Table:
        """Return rows of offset_history that begin, with how they ended; those that hold without it."""
        row, known = begun_rows
        is_plain = known.visibility == PLAIN
        begins = np.where(is_plain, row.producer != NO_PRODUCER_ID, known.visibility + 1)
        has_no_delta = (known.before < 0) | (row.committed_offset < 0)
        topics, partitions = self._subjects.names_of(row.subject)
        columns: dict[str, pa.Array] = {
            "group": self._subjects.groups.column(row.group),
            "topic": topics,
            "partition": partitions,
            "is_effective": pa.array((row.action == OffsetAction.COMMIT) & (known.visibility != HIDDEN)),
            "committed_offset": pa.array(row.committed_offset),
            "delta": pa.array(row.committed_offset - known.before, mask=has_no_delta),
            "leader_epoch": pa.array(row.leader_epoch.astype(np.int32)),
            "metadata": self._reader.metadata.column(row.text),
            "commit_timestamp": pa.array(row.commit_timestamp),
            "expire_timestamp": pa.array(row.expire_timestamp),
            "topic_id": self._reader.topic_ids.column(row.topic_id),
            "log_partition": pa.repeat(pa.scalar(self._log_partition, pa.int32()), len(row.subject)),
            "commit_log_offset": pa.array(row.commit_log_offset),
            "from_log_offset": pa.array(row.log_offset),
            "from_timestamp": pa.array(row.timestamp),
            "begin_cause": _texts(_BEGAN, begins),
            "producer_id": pa.array(row.producer, mask=row.producer == NO_PRODUCER_ID),
            "noop_tombstone_log_offset": pa.array(known.noop, mask=known.noop == NONE),
            **self._owners.columns(known.owner, row.commit_log_offset, self._history.after_gap),
            **ends,
        }
        nothing = {name: pa.nulls(len(row.subject), _OFFSETS.field(name).type) for name in _ENDS if not ends}
        columns |= nothing
        return pa.Table.from_arrays([columns[name] for name in _OFFSETS.names], schema=_OFFSETS)


def _texts(texts: pa.Array, places: Array) -> pa.Array:
    """Return the text at each of these places: most often all are one."""
    if len(places) and (places == places[0]).all():
        return pa.repeat(texts[int(places[0])], len(places))
    return texts.take(pa.array(places))


def _rows(
    offsets: pa.Table,
    of_groups: GroupTables,
    removals: Sequence[RemovalRow],
    of_transactions: pa.RecordBatch,
) -> HistoryRows:
    groups, members, anomalies = of_groups
    [of_offsets] = offsets.combine_chunks().to_batches() or [_NO_OFFSETS]
    return HistoryRows(
        of_offsets,
        groups,
        members,
        shown_batch(AnomalyRow, anomalies),
        shown_batch(RemovalRow, removals),
        of_transactions,
    )


_NO_OFFSETS: Final = pa.RecordBatch.from_pylist([], _OFFSETS)
NOTHING: Final = _rows(_OFFSETS.empty_table(), NO_GROUPS, [], shown_batch(TransactionRow, []))


def joined_rows(waiting: pa.RecordBatch | None, rows: pa.RecordBatch) -> pa.RecordBatch:
    """Return rows behind those that wait, which another reader may have encoded otherwise."""
    if not waiting:
        return rows
    if waiting.schema != rows.schema:
        waiting, rows = (
            pa.record_batch(list(map(plain, batch.columns)), batch.schema.names) for batch in (waiting, rows)
        )
    return pa.concat_batches([waiting, rows])


def _ended_before(settled: int, rows: HistoryRows) -> tuple[HistoryRows, HistoryRows]:
    """Return rows that ended before an offset of the log, and the others: the first can only be of removals."""
    ends = rows.removals.column("to_log_offset")
    is_over = pc.fill_null(pc.less(ends, settled), False)
    over, others = rows.removals.filter(is_over), rows.removals.filter(pc.invert(is_over))
    return NOTHING._replace(removals=over), rows._replace(removals=others)


def _observe_event(facts: LogFacts, observed_to: int, event: Event) -> None:
    """Observe the facts of a record that was decoded, unless an earlier replay did."""
    if event.record.log_offset >= observed_to:
        facts.observe_type(event)


def replay_batches(start: Start, batches: Iterable[pa.RecordBatch]) -> Iterator[HistoryRows]:
    """Replay all rows (row_events.COLUMNS) of one partition, by offset; yield the rows that ended, and last those that hold."""
    histories = Histories(start)
    yield from map(histories.replay, batches)
    yield from histories.finish()


def restore_live(checkpoint: bytes, source: str) -> LiveState:
    """Return the state of a coordinator that a checkpoint has, which EventHistoryReplay may have saved; errors as `restore`."""
    saved = restore(checkpoint, source)
    if saved.offsets:
        return Histories(Start(None, checkpoint=checkpoint, source=source)).live_state()
    if saved.observers is None:
        raise SourceError(source, "a checkpoint of the coordinator alone; replay the log from its start")
    return LiveState(saved.coordinator, saved.observers.lifetimes, saved.observers.changed)
