"""What happened in one log partition, by rows: to committed offsets by column, to groups and members one change at a time.

What is a happening, and how it is described, is decided by history.change_log, of the same row changes as from events. Where a
record changes a group or shows an anomaly, what it did to offsets is described with that, in the order of Coordinator's changes.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import chain, groupby
from operator import itemgetter
from typing import Final

import numpy as np
import pyarrow as pa

from offsets_tool.columns.arrays import Array
from offsets_tool.columns.columns_of_rows import rows_of
from offsets_tool.columns.lines import text_of
from offsets_tool.history.change_log import (
    Happening,
    LinesAsked,
    WantedHappenings,
    batch_happenings,
    told_changes,
)
from offsets_tool.history.history import History, RowChange
from offsets_tool.history.owners import NameOf
from offsets_tool.history.row_builders import anomaly_row
from offsets_tool.history.rows import OffsetEndCause, OffsetHistoryRow
from offsets_tool.relations.chunks import ReplayedChunk, anomalies
from offsets_tool.relations.groups import GroupEvent, ValueChange
from offsets_tool.relations.histories import Histories
from offsets_tool.relations.offset_changes import CommitLines, OffsetChanges, offset_changes, seen
from offsets_tool.relations.offsets import CAUSES
from offsets_tool.relations.replays import Start
from offsets_tool.relations.writes import NONE, OffsetAction
from offsets_tool.replay.changes import (
    VISIBILITY,
    Change,
    ChangeKind,
    GroupKind,
    GroupOf,
    MemberOf,
    OffsetOf,
    PendingOf,
)
from offsets_tool.replay.epoch_groups import new_group

_DELETED: Final = (OffsetEndCause.DELETED, OffsetEndCause.GROUP_DELETED, OffsetEndCause.ABSENT)


class Happenings(Histories):
    """Histories that yield what happens, and make no rows of it. Memory holds what happened in one page of rows."""

    def __init__(
        self,
        start: Start,
        name_of: NameOf,
        observe: Callable[[Iterable[Change]], object],
        wanted: WantedHappenings,
        lines: LinesAsked | None,
    ) -> None:
        """Start where `start` says; with `lines`, commits are yielded as text, many at a time. `observe` is given anomalies."""
        super().__init__(start, name_of)
        self._observe = observe
        self._wanted = wanted
        self._are_wanted, self._are_met = np.zeros((2, 0), bool)
        """By the number of a committed offset."""
        self._lines = CommitLines(lines, self._reader) if lines else None
        self._first_written: dict[int, int] = {}
        """Of open transactions (offset_changes)."""
        self._row_changes_of = History(name_of).row_changes_of
        """Asked of groups and members alone."""

    def of(self, rows: pa.RecordBatch | None) -> Iterator[Happening | memoryview]:
        """Yield what happened in rows, but for those that wait; behind all rows, None stands for these."""
        replayed = self.advance(rows)
        if replayed is None:
            return
        odd = list(anomalies(replayed.chunk, self._subjects, self._log_partition))
        of_commits = (change for _, change in odd)
        self._observe(chain(of_commits, *(event.changes for event in replayed.of_groups.events)))
        if not self._wanted.is_any_wanted:
            return
        writes = list(self._writes_of_groups(replayed))
        if not self._wanted.is_any_wanted:
            # So much changed that it is not even described.
            return
        changes = self._offset_changes(replayed)
        places = {place for write in (*writes, odd) for place, _ in write}
        is_alone = ~np.isin(changes.place, list(places))
        alone, shared = changes.at(is_alone), changes.at(~is_alone)
        happenings = list(self._of_shared_records(writes, odd, shared))
        if self._lines is None:
            for placed in zip(alone.place.tolist(), self._row_changes(alone), strict=True):
                happenings += _placed([placed])
        happenings.sort(key=itemgetter(0))
        if self._lines is None or not len(alone.row):
            yield from (happening for _, happening in happenings)
        else:
            lines = self._lines.of(alone, self._history.after_gap, self._described)
            yield from _in_order(happenings, alone.place, lines)

    def _offset_changes(self, replayed: ReplayedChunk) -> OffsetChanges:
        """Return what happened to the committed offsets that are wanted, where it is."""
        pieces = seen(replayed)
        subjects = replayed.chunk.writes.subject[pieces.commit]
        self._observe_names(subjects)
        is_wanted = self._are_wanted[subjects]
        pieces = pieces if is_wanted.all() else pieces.taken(is_wanted)
        changes = offset_changes(replayed, pieces, self._first_written)
        if self._wanted.wants_all_records:
            return changes
        records = zip(changes.timestamp.tolist(), changes.log_offset.tolist(), strict=True)
        return changes.at(np.array([self._wanted.wants_record(*record) for record in records], bool))

    def _observe_names(self, subjects: Array) -> None:
        """Learn which offsets are wanted of those that are new, and say that there are commits of these."""
        offsets = self._subjects.offsets
        new = [self._wanted.wants_offset(offset) for offset in offsets[len(self._are_wanted) :]]
        self._are_wanted = np.append(self._are_wanted, np.array(new, bool))
        self._are_met = np.append(self._are_met, np.zeros(len(new), bool))
        are_met = self._are_met.copy()
        are_met[subjects] = True
        for number in np.flatnonzero(are_met & ~self._are_met).tolist():
            self._wanted.meet(offsets[number])
        self._are_met = are_met

    def _writes_of_groups(self, replayed: ReplayedChunk) -> Iterator[list[tuple[int, Change]]]:
        """Yield what each of Kafka's writes did to groups and members that are wanted, with anomalies, each with its place."""
        records = [
            record for record in replayed.of_groups.all if isinstance(record, ValueChange) or record.changes
        ]
        for _, write in groupby(records, lambda record: replayed.of_writes[record.place]):
            if not self._wanted.is_any_wanted:
                return
            yield [
                (record.place, change)
                for record in write
                for change in record_changes(record, self._log_partition)
                if change.is_anomaly
                or (
                    isinstance(change.subject, GroupOf | MemberOf)
                    and self._wanted.wants_group(change.subject.group)
                )
            ]

    def _of_shared_records(
        self,
        writes: Iterable[list[tuple[int, Change]]],
        odd: Iterable[tuple[int, Change]],
        changes: OffsetChanges,
    ) -> Iterator[tuple[int, Happening]]:
        """Yield what records did of which some changed a group, and some were odd, each with its place."""
        by_record = defaultdict[int, list[RowChange]](list)
        for place, row_change in (
            *zip(changes.place.tolist(), self._row_changes(changes), strict=True),
            *((place, RowChange(change, anomaly=anomaly_row(change))) for place, change in odd),
        ):
            by_record[place].append(row_change)
        for write in writes:
            yield from _placed(list(self._of_write(write, by_record)))
        for place, of_record in by_record.items():
            yield from _placed([(place, row_change) for row_change in _of_one_record([], of_record)])

    def _of_write(
        self, write: Sequence[tuple[int, Change]], by_record: dict[int, list[RowChange]]
    ) -> Iterator[tuple[int, RowChange]]:
        """Yield what one of Kafka's writes did to groups, and with it what its records did to offsets, which it takes away."""
        places = {id(change): place for place, change in write}
        made = self._row_changes_of([change for _, change in write])
        for place, of_groups in groupby(made, lambda row_change: places[id(row_change.change)]):
            for row_change in _of_one_record(list(of_groups), by_record.pop(place, [])):
                yield place, row_change

    def _described(self, changes: OffsetChanges) -> Iterator[Happening]:
        """Yield what each thing is that happened to an offset, where its record did nothing else."""
        for row_change in self._row_changes(changes):
            yield from batch_happenings((row_change,))

    def _row_changes(self, changes: OffsetChanges) -> Iterator[RowChange]:
        """Yield what records did to offsets; of their Changes, nothing is asked but the record and the offset."""
        rows, before = (
            rows_of(OffsetHistoryRow, self._offset_rows(changes.rows.taken(numbers), {}))
            for numbers in (changes.row, changes.before[changes.has_begun & (changes.before != NONE)])
        )
        is_pending = changes.rows.rows.action[changes.row] == OffsetAction.PENDING
        facts = (
            changes.log_offset,
            changes.timestamp,
            changes.cause,
            changes.has_begun,
            changes.before != NONE,
            is_pending,
        )
        for row, log_offset, timestamp, cause, has_begun, has_ended, waits in zip(
            rows, *map(np.ndarray.tolist, facts), strict=True
        ):
            ended = None
            if has_ended:
                ended = (next(before) if has_begun else row)._replace(
                    to_log_offset=log_offset, to_timestamp=timestamp, end_cause=CAUSES[cause]
                )
            offset = OffsetOf(row.group, row.topic, row.partition)
            subject = PendingOf(row.producer_id, *offset) if waits else offset
            change = Change(self._log_partition, log_offset, timestamp, log_offset, ChangeKind.SET, subject)
            yield RowChange(change, ended, row if has_begun else None)


def record_changes(record: GroupEvent | ValueChange, log_partition: int | None) -> Iterable[Change]:
    """Return the changes that Coordinator makes of a record of a group."""
    return record.changes if isinstance(record, GroupEvent) else _value_changes(record, log_partition)


def _value_changes(value: ValueChange, log_partition: int | None) -> Iterator[Change]:
    """Yield the changes that Coordinator makes of a value that was replayed at once."""
    name, before, after = value.group.group, value.before, value.group
    change = partial(Change, log_partition, value.log_offset, value.timestamp, value.log_offset)
    is_classic = after.kind is GroupKind.CLASSIC
    if is_classic:
        yield change(ChangeKind.SET, GroupOf(name), before, after)
    elif before is None:
        before = new_group(after.kind, name, value.log_offset)
        yield change(ChangeKind.SET, GroupOf(name), None, before)
    for member_id, member in value.gone.items():
        yield change(ChangeKind.DELETED, MemberOf(name, member_id), member, None)
    for member_id, member in value.written.items():
        yield change(ChangeKind.SET, MemberOf(name, member_id), value.known, member)
    if not is_classic and after != before:
        yield change(ChangeKind.SET, GroupOf(name), before, after)


def _of_one_record(of_groups: Sequence[RowChange], others: Sequence[RowChange]) -> Iterator[RowChange]:
    """Yield what one record did to groups, with what it did to offsets and what is odd of these, in the order of Coordinator."""
    offsets, odd = (
        [change for change in others if (change.anomaly is None) is is_sound] for is_sound in (True, False)
    )
    if any(
        change.after is None and change.before is not None and change.before.end_cause in _DELETED
        for change in offsets
    ):
        # The tombstone of its last offset removes a simple group.
        yield from (*offsets, *of_groups)
        return
    turned = [change for change in offsets if of_groups and _is_of_visibility(change)]
    for change in of_groups:
        yield change
        if isinstance(change.change.subject, GroupOf) and (change.before is None) != (change.after is None):
            yield from sorted(turned, key=lambda turn: turn.change.subject)
    for change in offsets:
        if change in turned:
            continue
        for anomaly in [anomaly for anomaly in odd if _precedes(anomaly, change)]:
            odd.remove(anomaly)
            yield anomaly
        yield change
    yield from odd


def _is_of_visibility(change: RowChange) -> bool:
    """Return whether its group's coming or going hid or revealed an offset."""
    return isinstance(change.after, OffsetHistoryRow) and change.after.begin_cause in VISIBILITY


def _precedes(anomaly: RowChange, change: RowChange) -> bool:
    """Return whether an anomaly is noted of a commit before it changes its offset."""
    of_offset = len(OffsetOf._fields)
    return (
        not anomaly.change.is_unread
        and anomaly.change.subject[-of_offset:] == change.change.subject[-of_offset:]
    )


def _placed(row_changes: Sequence[tuple[int, RowChange]]) -> Iterator[tuple[int, Happening]]:
    """Yield what the changes of one write come to, each with the place of its last change."""
    places = {id(row_change): place for place, row_change in row_changes}
    for row_change, happening in told_changes(row_change for _, row_change in row_changes):
        yield places[id(row_change)], happening


def _in_order(
    happenings: Sequence[tuple[int, Happening]], places: Array, lines: pa.StringArray
) -> Iterator[Happening | memoryview]:
    """Yield happenings, and the lines of others at some places, by place."""
    begin = 0
    ends = np.searchsorted(places, [place for place, _ in happenings])
    for (_, happening), end in zip(happenings, ends.tolist(), strict=True):
        if end > begin:
            yield text_of(lines.slice(begin, end - begin))
            begin = end
        yield happening
    if begin < len(lines):
        yield text_of(lines.slice(begin))
