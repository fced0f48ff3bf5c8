"""What happened in one log partition, by rows: commits and what markers did, if wanted, by column; all else one by one.

What is a happening and how it is described is decided by history.change_log, of the same row changes as from events.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np
import pyarrow as pa

from offsets_tool.as_of.snapshot import PartitionSnapshot
from offsets_tool.columns.arrays import Array
from offsets_tool.columns.happenings.commits_of_run import (
    CommitsOfRun,
    commits_of_run,
    together,
    touched_offsets,
)
from offsets_tool.columns.happenings.lines import CommitLines, JsonOf, TimeOf
from offsets_tool.columns.lines import text_of
from offsets_tool.columns.reading import RowsRead
from offsets_tool.columns.replay.compiled.tables import NONE, Kind, RowCell, RunCell
from offsets_tool.columns.replay.history_rows_replay import HistoryRowsReplay
from offsets_tool.columns.replay.row_events import rows_below
from offsets_tool.expiry.removal_log import RemovalLog
from offsets_tool.history.change_log import Happening, batch_happenings
from offsets_tool.history.history import History, RowChange
from offsets_tool.history.owners import NameOf
from offsets_tool.history.rows import OffsetEndCause
from offsets_tool.history.transactions import TransactionLog
from offsets_tool.replay.changes import Change, ChangeKind, OffsetOf
from offsets_tool.replay.coordinator import Coordinator


class WantedCommits(Protocol):
    """Which commits become happenings; what else happens always does."""

    def wants_offset(self, offset: OffsetOf) -> bool:
        """Return whether commits of this offset may be wanted; it is asked once for each that a record names."""
        ...

    def meet(self, offset: OffsetOf) -> None:
        """Remember that there is a commit of this offset; it is called once for each, wanted or not."""
        ...

    def wants_record(self, timestamp: int, log_offset: int) -> bool:
        """Return whether a commit in this record of the partition may be wanted."""
        ...

    @property
    def wants_all_records(self) -> bool:
        """Whether `wants_record` is true of every record."""
        ...


class LinesAsked(NamedTuple):
    """How the lines of happenings are made: the fields of one as JSON has them, JSON of a value, and the text of a time."""

    row_of: Callable[[Happening], Mapping[str, Any]]
    json_of: JsonOf
    time_of: TimeOf


def partition_happenings(
    partition: PartitionSnapshot,
    coordinator: Coordinator,
    reads: Iterable[RowsRead],
    name_of: NameOf,
    wanted: WantedCommits,
    *,
    lines: LinesAsked | None = None,
) -> Iterator[Happening | memoryview]:
    """Yield what happened in a partition up to its moment, in the order of the log, but for commits that are not wanted.

    With `lines`, commits are yielded as text, in UTF-8, many at a time. `coordinator` starts anew, by the rules that were found to
    hold. Memory holds what happened in one page of rows.
    """
    replay = _HappeningsReplay(coordinator, History(name_of), wanted, lines)
    for page in rows_below(reads, partition.end):
        for event, changes in replay.replay(page):
            replay.observe(event, changes)
        yield from replay.take_happenings()
    yield from batch_happenings(replay.history.flush_row_changes())


class _HappeningsReplay(HistoryRowsReplay):
    """A replay for histories that keeps no rows, but what happened; of what is wanted, tombstones do not go by column."""

    def __init__(
        self, coordinator: Coordinator, history: History, wanted: WantedCommits, lines: LinesAsked | None
    ) -> None:
        partition = coordinator.log_partition
        super().__init__(coordinator, history, RemovalLog(partition), TransactionLog())
        self._wanted = wanted
        self._are_wanted: Array = np.zeros(0, bool)
        self._are_met: Array = np.zeros(0, bool)
        """By committed offset."""
        self._happened: list[Happening] = []
        self._asked = lines
        self._lines = CommitLines(lines.json_of, lines.time_of) if lines else None
        self._unprinted: list[CommitsOfRun] = []
        self._printed: list[tuple[Array, pa.StringArray]] = []
        """Log offsets of commits that follow each other, and their lines."""
        self._ended_before = 0
        """How many rows of history had ended before the present run."""

    def expected(self, table: Array) -> Array:
        """Replay wanted tombstones alone, and whatever was written with these; nobody asks what becomes of others."""
        self._add_wanted()
        subjects = table[RowCell.SUBJECT]
        named = np.flatnonzero(subjects != NONE)
        are_wanted = np.zeros(table.shape[1], bool)
        are_wanted[named] = self._are_wanted[subjects[named]]
        alone = (self.kinds == Kind.ALONE) | (are_wanted & (self.kinds == Kind.TOMBSTONE))
        together = np.isin(self.writes, np.unique(self.writes[alone]))
        self.kinds[together] = table[RowCell.KIND, together] = Kind.ALONE
        return super().expected(table)

    def keep_changes(self, row_changes: Iterable[RowChange]) -> None:
        """Keep what the changes of one batch were."""
        self._happened += batch_happenings(row_changes)

    def take_happenings(self) -> Iterator[Happening | memoryview]:
        """Yield, once, what happened in the rows that were replayed, in the order of the log."""
        happened, self._happened = self._happened, []
        printed, self._printed = self._printed, []
        self.take_rows()
        yield from _in_order(sorted(happened, key=lambda happening: happening.log_offset), printed)

    def after_run(self, first: int, end: int) -> None:
        """Make happenings of what a run did to committed offsets: what follows it may move their rows out of the tables."""
        super().after_run(first, end)
        tables = self.store.tables
        ended = tables.ended[self._ended_before : tables.run[RunCell.ENDED_COUNT]]
        self._ended_before = int(tables.run[RunCell.ENDED_COUNT])
        self._add_wanted()
        commits = self._commits(self.table[:, first:end], ended)
        if commits is None:
            return
        if self._lines is None:
            self._happened += self._described(commits)
        else:
            self._unprinted.append(commits)

    def take_ended(self) -> None:
        """Make the lines of what happened while all that they say is still known, and forget the rows that ended."""
        self._print()
        self.store.tables.forget_ended()
        self._ended_before = 0

    def _print(self) -> None:
        """Make the lines of what happened in all runs since the last ones were made."""
        if not self._unprinted:
            return
        assert self._asked is not None and self._lines is not None
        row_of = self._asked.row_of
        commits = together(self._unprinted)
        self._unprinted.clear()

        def rows_of(places: Sequence[int]) -> Iterator[Mapping[str, Any]]:
            return map(row_of, self._described(commits.at(places)))

        self._printed.append((commits.log_offsets, self._lines.of(commits, self.store, rows_of)))

    def _add_wanted(self) -> None:
        known = len(self._are_wanted)
        if added := [self._wanted.wants_offset(offset) for offset in self.store.subjects.offsets[known:]]:
            self._are_wanted = np.append(self._are_wanted, np.array(added, bool))
            self._are_met = np.append(self._are_met, np.zeros(len(added), bool))

    def _meet(self, subjects: Array) -> None:
        for number in np.unique(subjects[~self._are_met[subjects]]).tolist():
            self._wanted.meet(self.store.subjects.offsets[number])
        self._are_met[subjects] = True

    def _commits(self, table: Array, ended: Array) -> CommitsOfRun | None:
        """Return what happened to wanted offsets in a run, given its rows and the rows of history that ended; None if nothing."""
        touched = touched_offsets(table, ended)
        self._meet(touched.subjects)
        touched = touched.at(self._are_wanted[touched.subjects])
        if not self._wanted.wants_all_records:
            records = zip(touched.timestamps.tolist(), touched.log_offsets.tolist(), strict=True)
            touched = touched.at(np.array([self._wanted.wants_record(*record) for record in records], bool))
        return commits_of_run(touched, ended, self.store.tables) if len(touched.subjects) else None

    def _described(self, commits: CommitsOfRun) -> Iterator[Happening]:
        """Yield what each thing is that happened."""
        for row_change in self._row_changes(commits):
            yield from batch_happenings((row_change,))

    def _row_changes(self, commits: CommitsOfRun) -> Iterator[RowChange]:
        """Yield the row change of each thing that happened; its change has the record and the offset, and nothing else is asked."""
        known = np.flatnonzero(commits.has_before)
        replaced = self.store.rows_of(commits.before[known], commits.subjects[known])
        earlier = {place: row for place, (row, _) in zip(known.tolist(), replaced, strict=True)}
        rows = (row for row, _ in self.store.rows_of(commits.rows, commits.subjects))
        facts = (commits.log_offsets, commits.timestamps, commits.subjects, commits.has_after)
        for number, (row, at, when, subject, has_after) in enumerate(
            zip(rows, *(column.tolist() for column in facts), strict=True)
        ):
            before = earlier.get(number)
            if before is not None:
                ends = OffsetEndCause.SUPERSEDED if has_after else OffsetEndCause.ABORTED
                before = before._replace(to_log_offset=at, to_timestamp=when, end_cause=ends)
            place = self.coordinator.log_partition, at, when, at
            change = Change(*place, ChangeKind.SET, self.store.subjects.offsets[subject], None, None)
            yield RowChange(change, before, row if has_after else None)


def _in_order(
    happened: list[Happening], printed: list[tuple[Array, pa.StringArray]]
) -> Iterator[Happening | memoryview]:
    """Yield happenings and lines by log offset; what happened with the record of a commit, such as its group, comes before it."""
    at = 0
    for log_offsets, lines in printed:
        begin = 0
        while at < len(happened) and happened[at].log_offset <= log_offsets[-1]:
            end = int(np.searchsorted(log_offsets, happened[at].log_offset))
            if end > begin:
                yield text_of(lines.slice(begin, end - begin))
                begin = end
            yield happened[at]
            at += 1
        if begin < len(lines):
            yield text_of(lines.slice(begin))
    yield from happened[at:]
