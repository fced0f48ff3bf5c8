"""The histories of one log partition, chunk by chunk: offsets as a set, groups and members one record at a time, joined.

A chunk is cut where surely no write of Kafka's goes on, because what a record did may depend on what was written with it; what
lies behind the cut waits for the next chunk. Open rows are carried on. `replay` and `history` are what tests hold this against.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from offsets_tool.columns.arrays import Array
from offsets_tool.columns.replay.columns_of_rows import are_there, behind_gaps, flags, numbers
from offsets_tool.columns.replay.subjects import Subjects
from offsets_tool.expiry.rows import RemovalRow
from offsets_tool.history.history import History, ended_by
from offsets_tool.history.owners import NameOf
from offsets_tool.history.rows import (
    AnomalyRow,
    GroupHistoryRow,
    HistoryRow,
    MemberHistoryRow,
    OffsetBeginCause,
    OffsetHistoryRow,
)
from offsets_tool.history.transactions import TransactionRow
from offsets_tool.relations.groups import GroupEvent, GroupReplay, Holdings
from offsets_tool.relations.kafka_writes import (
    GroupEnd,
    groups_gone,
    last_cut,
    with_group_ends,
    write_numbers,
)
from offsets_tool.relations.lifetimes import LIFETIME, LifetimeColumns, lifetimes_of
from offsets_tool.relations.offsets import (
    ENDS,
    HIDDEN,
    NEVER,
    NONE,
    PLAIN,
    Pieces,
    Writes,
    begun,
    ended,
    numbered,
    pieces_of,
)
from offsets_tool.relations.owners import OwnerJoin
from offsets_tool.relations.removals import RemovalInputs, RemovalRelation
from offsets_tool.relations.transactions import (
    NO_MARKER,
    joined,
    no_entries,
    no_markers,
    read_entries,
    read_markers,
    transaction_rows,
    transactions,
)
from offsets_tool.relations.visibility import Presence, late, presences, with_visibility
from offsets_tool.relations.writes import SUBJECT, WRITES, OffsetAction, WriteReader, have_producers
from offsets_tool.replay.changes import UNREAD, GroupOf, MemberOf, TransactionOf
from offsets_tool.replay.coordinator import Coordinator
from offsets_tool.replay.offsets import RETURNED, UNSURE
from offsets_tool.replay.rules import Rules
from offsets_tool.wire.arrow import arrow_schema, shown_batch
from offsets_tool.wire.json import uuid_text
from offsets_tool.wire.text import from_shown

_OFFSETS: Final = arrow_schema(OffsetHistoryRow)
_BEGAN: Final = pa.array([cause.value for cause in OffsetBeginCause])


class HistoryTables(NamedTuple):
    """Rows of each history, as columns."""

    offsets: pa.Table
    groups: pa.RecordBatch
    members: pa.RecordBatch
    anomalies: pa.RecordBatch
    removals: pa.RecordBatch
    transactions: pa.RecordBatch


class HistoryChunk(NamedTuple):
    """Rows of a log, what they do (WRITES) behind the commits that are open before them, and the rows of history that come of it.

    `problems` has what is wrong with commits that do not read, by row.
    """

    rows: pa.RecordBatch
    table: pa.Table
    writes: Writes
    pieces: Pieces
    problems: Mapping[int, str]


class Histories:
    """The histories of one log partition: `advance` takes its rows in order and returns the rows of history that they ended.

    Rows of history that hold, and what waits for rows that may have been written with it, come with `finish`.
    """

    def __init__(
        self, log_partition: int | None, rules: Rules | None = None, name_of: NameOf = uuid_text
    ) -> None:
        """Start without groups and offsets; `rules` None chooses by the log, as Coordinator does."""
        self._log_partition = log_partition
        self._subjects = Subjects()
        self._reader = WriteReader()
        self._coordinator = Coordinator(log_partition, rules or Rules.CLASSIC)
        self._is_auto = rules is None
        self._groups = GroupReplay(self._coordinator)
        self._history = History(name_of)
        self._owners = OwnerJoin(name_of, self._subjects)
        self._open = WRITES.empty_table()
        self._transactions = no_entries()
        self._removals = RemovalRelation(log_partition)
        self._waiting: pa.RecordBatch | None = None
        self._next_offset = 0
        self._after_gap: int | None = None

    def advance(self, rows: pa.RecordBatch) -> HistoryTables:
        """Return the rows of history that these rows (row_events.COLUMNS) ended, and anomalies, as far as that is certain."""
        if self._waiting is not None and self._waiting.num_rows:
            rows = pa.Table.from_batches([self._waiting, rows]).combine_chunks().to_batches()[0]
        end = last_cut(rows)
        self._waiting = rows.slice(end)
        return self._advance(rows.slice(0, end))

    def finish(self) -> tuple[HistoryTables, HistoryTables]:
        """Return what the last rows ended, and the rows of history that hold; call it once, after all rows."""
        rows, self._waiting = self._waiting, None
        last = _NOTHING if rows is None else self._advance(rows)
        offsets = self._offset_rows(self._open.filter(self._open["is_read"]), {})
        of = transactions(self._transactions, no_markers())
        open_ = transaction_rows(of, no_markers(), self._subjects.groups, self._log_partition)
        return last, _tables(offsets, list(self._history.open_rows()), self._removals.open_rows(), open_)

    def _advance(self, rows: pa.RecordBatch) -> HistoryTables:
        """Return what rows ended; all records that Kafka wrote at once must be among them."""
        if not rows.num_rows:
            return _NOTHING
        self._observe_gaps(rows.column("log_offset").to_numpy())
        is_new, proved = self._rules_of(rows)
        chunk = self._read(rows, is_new)
        groups = chunk.writes.group[chunk.pieces.commit]
        was_there = set(self._coordinator.state.groups)
        events = self._replay_groups(chunk, groups, proved)
        transaction_rows_, ending = self._end_transactions(chunk, events)
        of_writes = write_numbers(rows, chunk.writes, chunk.pieces, events, ending)
        history_rows = [*self._group_rows(events, of_writes), *_anomalies(chunk, self._log_partition)]
        lifetimes = lifetimes_of(
            chunk.table, chunk.writes, chunk.pieces, self._owners.topic_ids(chunk.table), _are_doubtful(chunk)
        )
        inputs = RemovalInputs(
            rows,
            chunk.table,
            chunk.writes,
            chunk.pieces,
            lifetimes,
            events,
            of_writes != NONE,
            self._subjects,
        )
        removals = self._removals.advance(inputs)
        ends = groups_gone(events, of_writes)
        pieces = with_group_ends(chunk.pieces, groups, of_writes, self._by_number(ends))
        visibility = numbers(self._open["visibility"].combine_chunks(), PLAIN)
        of_groups = self._presences(chunk, groups, presences(events, of_writes, ends, was_there), was_there)
        pieces = with_visibility(chunk.writes, pieces, visibility, of_groups, of_writes)
        chunk = chunk._replace(table=_with_lifetimes(chunk, lifetimes))
        return _tables(self._end_offsets(chunk, pieces, events), history_rows, removals, transaction_rows_)

    def _observe_gaps(self, log_offsets: Array) -> None:
        """Learn where the first record behind a missing one is."""
        if self._after_gap is None:
            behind = behind_gaps(np.append(self._next_offset - 1, log_offsets))
            self._after_gap = int(behind[0]) if len(behind) else None
        self._next_offset = int(log_offsets[-1]) + 1

    def _rules_of(self, rows: pa.RecordBatch) -> tuple[Array, int | None]:
        """Return which rows the new rules hold for, and the row that proves them."""
        is_new = np.full(rows.num_rows, self._coordinator.rules is Rules.NEW)
        if not self._is_auto or self._coordinator.proved_at is not None:
            return is_new, None
        proved = self._reader.first_proof(rows)
        if proved is not None:
            self._coordinator.proved_at = rows.column("log_offset")[proved].as_py()
            is_new[proved:] = True
        return is_new, proved

    def _read(self, rows: pa.RecordBatch, is_new: Array) -> HistoryChunk:
        table, problems = self._reader.read(rows, is_new)
        table = pa.concat_tables([self._open, table]).combine_chunks()
        writes = numbered(table, self._subjects, len(self._open))
        return HistoryChunk(rows, table, writes, pieces_of(writes), problems)

    def _replay_groups(self, chunk: HistoryChunk, groups: Array, proved: int | None) -> list[GroupEvent]:
        writes, pieces = chunk.writes, chunk.pieces
        holdings = Holdings(groups, pieces.begin, pieces.end, len(writes.action) + 1)
        place = None if proved is None else proved + writes.carried
        return list(self._groups.replay(chunk.rows, writes, self._subjects.groups, holdings, place))

    def _end_transactions(
        self, chunk: HistoryChunk, events: Sequence[GroupEvent]
    ) -> tuple[pa.RecordBatch, Array]:
        """Return the rows of transactions that ended, and the places of the markers that ended them."""
        places = _in_transactions(chunk, events)
        entries = joined(self._transactions, read_entries(chunk.rows, chunk.writes, places))
        ends = chunk.writes.of(OffsetAction.COMMIT_MARKER, OffsetAction.ABORT_MARKER)
        before = len(self._transactions.producer_id) + np.searchsorted(places, ends)
        markers = read_markers(chunk.rows, chunk.writes, ends, before)
        of = transactions(entries, markers)
        self._transactions = of.carried
        over = of.taken(np.flatnonzero(of.marker != NO_MARKER))
        made = transaction_rows(over, markers, self._subjects.groups, self._log_partition)
        return made, ends[np.unique(over.marker)]

    def _group_rows(self, events: Sequence[GroupEvent], of_writes: Array) -> list[HistoryRow]:
        """Return the rows of groups and members that ended, and anomalies of groups; `of_writes` are numbers of writes by place."""
        rows: list[HistoryRow] = []
        last = None
        for place, _, changes in events:
            if not changes:
                continue
            if last is not None and of_writes[place] != last:
                rows += self._history.flush()
            last = of_writes[place]
            for change in changes:
                if change.is_anomaly or isinstance(change.subject, GroupOf | MemberOf):
                    rows += ended_by(self._history.row_changes(change))
        return [*rows, *self._history.flush()]

    def _by_number(self, ends: Sequence[GroupEnd]) -> dict[tuple[int, int], int]:
        """Return the places of ends by write and number of the group, of groups that commit offsets."""
        known = ((end.write, self._subjects.groups.number(end.group), end.place) for end in ends)
        return {(write, number): place for write, number, place in known if number is not None}

    def _presences(
        self, chunk: HistoryChunk, groups: Array, turned: Mapping[str, Presence], was_there: set[str]
    ) -> dict[int, Presence]:
        """Return by number the groups that hid offsets or may do so: those that went, and those that were not there at a marker."""
        names = self._subjects.groups.texts
        absent = {
            names[number] for number in np.unique(groups[late(chunk.writes, chunk.pieces)]).tolist()
        } - was_there
        hidden = self._open.filter(pc.equal(self._open["visibility"], HIDDEN))["group"].unique().to_pylist()
        went = {group for group, presence in turned.items() if any(turn.is_end for turn in presence.turns)}
        wanted = {*went, *absent, *map(from_shown, hidden)}
        known = ((self._subjects.groups.number(name), name) for name in wanted)
        return {
            number: turned.get(name, Presence(name in was_there, ()))
            for number, name in known
            if number is not None
        }

    def _end_offsets(self, chunk: HistoryChunk, pieces: Pieces, events: Sequence[GroupEvent]) -> pa.Table:
        """Return the rows of offset_history that ended, and carry the others on."""
        owners = self._owners.numbers(chunk.table, chunk.writes, events)
        owners[: chunk.writes.carried] = self._open["owner"].to_numpy()
        table = chunk.table.set_column(WRITES.get_field_index("owner"), "owner", pa.array(owners))
        holds = pieces.end == NEVER
        over = pieces.taken(~holds & chunk.writes.is_read[pieces.commit])
        self._open = begun(table, chunk.writes, pieces.taken(holds)).sort_by("commit_log_offset")
        rows = self._offset_rows(begun(table, chunk.writes, over), ended(table, over))
        return rows.filter(pc.not_equal(rows["from_log_offset"], rows["to_log_offset"]))

    def _offset_rows(self, commits: pa.Table, ends: Mapping[str, pa.Array]) -> pa.Table:
        """Return rows of offset_history of commits (WRITES), with how they ended; those that hold without it."""
        columns = {name: commits[name] for name in commits.column_names}
        columns |= {name: ends.get(name, pa.nulls(len(commits), _OFFSETS.field(name).type)) for name in ENDS}
        visibility = numbers(commits["visibility"].combine_chunks(), PLAIN).astype(np.int64)
        is_plain = visibility == PLAIN
        causes = np.where(is_plain, are_there(commits["producer_id"].combine_chunks()), visibility + 1)
        is_effective = (commits["action"].to_numpy() == OffsetAction.COMMIT) & (visibility != HIDDEN)
        columns |= {
            "is_effective": pa.array(is_effective),
            "log_partition": pa.repeat(pa.scalar(self._log_partition, pa.int32()), len(commits)),
            "begin_cause": _BEGAN.take(pa.array(causes.astype(np.int64))),
        }
        log_offsets = commits["commit_log_offset"].to_numpy()
        columns |= self._owners.columns(commits["owner"].to_numpy(), log_offsets, self._after_gap)
        return pa.table([columns[name] for name in _OFFSETS.names], _OFFSETS.names).cast(_OFFSETS)


def _tables(
    offsets: pa.Table,
    rows: Sequence[HistoryRow],
    removals: Sequence[RemovalRow],
    of_transactions: pa.RecordBatch,
) -> HistoryTables:
    groups, members, anomalies = (
        shown_batch(kind, [row for row in rows if type(row) is kind])
        for kind in (GroupHistoryRow, MemberHistoryRow, AnomalyRow)
    )
    return HistoryTables(
        offsets, groups, members, anomalies, shown_batch(RemovalRow, removals), of_transactions
    )


_NOTHING: Final = _tables(_OFFSETS.empty_table(), [], [], shown_batch(TransactionRow, []))


def _in_transactions(chunk: HistoryChunk, events: Sequence[GroupEvent]) -> Array:
    """Return the places of the records that are in transactions: of committed offsets, and of groups."""
    writes = chunk.writes
    is_in = writes.subject != NONE
    is_in[: writes.carried] = False
    is_in[writes.carried :] &= flags(chunk.rows.column("is_transactional")) & have_producers(chunk.rows)
    subjects = ((place, change.subject) for place, _, changes in events for change in changes)
    is_in[[place for place, subject in subjects if isinstance(subject, TransactionOf)]] = True
    return np.flatnonzero(is_in)


def _are_unsure(chunk: HistoryChunk) -> Array:
    """Return which writes are commits that the two coordinators take for one in a transaction or not."""
    rows, _, writes, _, _ = chunk
    is_unsure = np.isin(writes.action, (OffsetAction.COMMIT, OffsetAction.PENDING))
    is_unsure[: writes.carried] = False
    is_unsure[writes.carried :] &= have_producers(rows) != flags(rows.column("is_transactional"))
    return is_unsure


def _are_back(chunk: HistoryChunk) -> Array:
    """Return which rows begin with a marker though a tombstone had come that only a running classic coordinator acts on."""
    _, table, writes, pieces, _ = chunk
    was_passed = are_there(table["noop_tombstone_log_offset"].combine_chunks())[pieces.commit]
    is_back: Array = (
        late(writes, pieces) & writes.is_read[pieces.commit] & (was_passed | (pieces.noop != NONE))
    )
    return is_back


def _are_doubtful(chunk: HistoryChunk) -> Array:
    """Return which rows are of commits that only a coordinator has that loaded this log, and not the one that wrote it."""
    pieces = chunk.pieces
    is_plain = pieces.is_effective & (pieces.begin == pieces.commit)
    is_doubtful: Array = (is_plain & _are_unsure(chunk)[pieces.commit]) | _are_back(chunk)
    return is_doubtful


def _with_lifetimes(chunk: HistoryChunk, lifetimes: LifetimeColumns) -> pa.Table:
    """Return what rows do (WRITES) with the lifetimes of their commits, where these are effective."""
    table, pieces = chunk.table, chunk.pieces
    for name, column in zip(LIFETIME, lifetimes, strict=True):
        values = np.zeros(len(table), column.dtype)
        values[pieces.commit[pieces.is_effective]] = column[pieces.is_effective]
        table = table.set_column(WRITES.get_field_index(name), name, pa.array(values))
    return table


def _anomalies(chunk: HistoryChunk, log_partition: int | None) -> Iterator[AnomalyRow]:
    """Yield what Kafka's code rules out of commits: of no transaction for sure, not understood, or back though it was deleted."""
    _, table, writes, pieces, problems = chunk
    notes = [(place, place, UNSURE) for place in np.flatnonzero(_are_unsure(chunk)).tolist()]
    for row, problem in problems.items():
        notes.append((row + writes.carried, row + writes.carried, f"{UNREAD}{problem}"))
    back = pieces.taken(_are_back(chunk))
    notes += [(*places, RETURNED) for places in zip(back.commit.tolist(), back.begin.tolist(), strict=True)]
    for commit, place, note in notes:
        group, topic, partition = (table[name][commit].as_py() for name in SUBJECT)
        log_offset, timestamp = (table[name][place].as_py() for name in ("from_log_offset", "from_timestamp"))
        about = from_shown(group), f"{from_shown(topic)}-{partition}"
        yield AnomalyRow(*about, log_partition, log_offset, timestamp, note)
