"""What answers are made of: the histories of each log partition up to a moment, alike of rows of Arrow and of single events.

Single events are for the reference and for archives; relations.partitions takes rows.
"""

from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from offsets_tool.as_of.snapshot import PartitionSnapshot
from offsets_tool.as_of.transactions import EndedTransaction
from offsets_tool.events import Event
from offsets_tool.expiry.forecast import PartitionRemovals, removals_by_event
from offsets_tool.history.change_log import Happening, LinesAsked, WantedHappenings, batch_happenings
from offsets_tool.history.history import History
from offsets_tool.history.owners import NameOf
from offsets_tool.history.rows import HistoryRow
from offsets_tool.history.transactions import ended_transaction, ended_transactions, open_transactions
from offsets_tool.replay.changes import Change, GroupOf, MemberOf

if TYPE_CHECKING:
    from offsets_tool.findings.group_rows import GroupRow, PartitionRows, ReplayedPartition

_Row = TypeVar("_Row", bound=HistoryRow)


class PartitionHistories(Protocol):
    """The histories of one log partition up to its moment, by the rules that hold in it; ask one question of each.

    All of the log is read when the answer is returned, or with `happenings`, when nothing more comes.
    """

    name_of: NameOf
    """Returns the name of a topic id, as far as it is known."""

    @property
    def partition(self) -> PartitionSnapshot:
        """The partition as it is at the moment."""
        ...

    def rows(self, *kinds: type[_Row]) -> Iterator[_Row]:
        """Return the rows of these kinds, those that hold last."""
        ...

    def ended_transactions(self) -> Iterator[EndedTransaction]:
        """Return what each marker ended, in the order of the log."""
        ...

    def group_changes(self) -> Iterator[Change]:
        """Return what was set and removed of groups and members, in the order of the log."""
        ...

    def happenings(
        self, wanted: WantedHappenings, lines: LinesAsked | None = None
    ) -> Iterator[Happening | memoryview]:
        """Yield what happened, in the order of the log, while it is wanted; of commits perhaps as text if `lines` are given."""
        ...

    def observe_records(self, of_event: Callable[[Event], object], of_rows: Callable[[Any], object]) -> None:
        """Give each event up to the moment to the first function, or all rows, page by page, to the second."""
        ...

    def removals(self) -> PartitionRemovals:
        """Return the offsets that were removed, and what expiry asks besides."""
        ...

    def replayed(self) -> "ReplayedPartition":
        """Return all rows by group, the removals, and the sums of the records."""
        ...


class EventHistories:
    """PartitionHistories of the events of a partition, replayed one at a time."""

    def __init__(
        self,
        partition: PartitionSnapshot,
        replayed: Iterable[tuple[Event, tuple[Change, ...]]],
        name_of: NameOf,
    ) -> None:
        """Take a partition's events up to its moment with their changes; `name_of` returns the name of a topic id."""
        self.partition = partition
        self.name_of = name_of
        self._replayed = replayed
        self._history = History(name_of)

    def rows(self, *kinds: type[_Row]) -> Iterator[_Row]:
        """Return the rows of these kinds, those that hold last."""
        rows: list[_Row] = []
        for event, changes in self._replayed:
            rows += (row for row in self._ended(event, changes) if isinstance(row, kinds))
        rows += (row for row in self._last() if isinstance(row, kinds))
        return iter(rows)

    def ended_transactions(self) -> Iterator[EndedTransaction]:
        """Return what each marker ended, in the order of the log."""
        ended = (ended_transaction(event, changes) for event, changes in self._replayed)
        return iter([transaction for transaction in ended if transaction is not None])

    def group_changes(self) -> Iterator[Change]:
        """Return what was set and removed of groups and members, in the order of the log."""
        changes = chain.from_iterable(changes for _, changes in self._replayed)
        return iter([change for change in changes if isinstance(change.subject, GroupOf | MemberOf)])

    def happenings(self, wanted: WantedHappenings, lines: LinesAsked | None = None) -> Iterator[Happening]:
        """Yield all that happened, in the order of the log, while it is wanted."""
        for event, changes in self._replayed:
            if not wanted.is_any_wanted:
                continue
            self._observe(event)
            for change in changes:
                yield from batch_happenings(self._history.row_changes(change))
        yield from batch_happenings(self._history.flush_row_changes())

    def observe_records(self, of_event: Callable[[Event], object], of_rows: Callable[[Any], object]) -> None:
        """Give each event up to the moment to the first function."""
        for event, _ in self._replayed:
            of_event(event)

    def removals(self) -> PartitionRemovals:
        """Return the offsets that were removed, and what expiry asks besides."""
        return removals_by_event(self.partition, self._replayed)

    def replayed(self) -> "ReplayedPartition":
        """Return all rows by group, the removals, and the sums of the records."""
        from offsets_tool.findings import group_rows  # noqa: PLC0415 - with Arrow, where it is asked for

        partition, sums = self.partition, group_rows.RecordSums(self.partition.log_partition)
        rows: list[GroupRow] = []

        def replayed() -> Iterator[tuple[Event, tuple[Change, ...]]]:
            for event, changes in self._replayed:
                yield event, changes
                sums.observe(event)
                rows.extend((*self._ended(event, changes), *ended_transactions(event, changes)))

        removals = removals_by_event(partition, replayed())
        open_ = open_transactions(partition.state.transactions.values(), partition.log_partition)
        rows += (*self._last(), *open_)

        def with_rows(more: "Iterable[GroupRow]") -> "PartitionRows":
            return group_rows.PartitionRows([*rows, *more], group_rows.stretch_of(partition), sums)

        return group_rows.ReplayedPartition(sums, removals, with_rows)

    def _ended(self, event: Event, changes: Iterable[Change]) -> Iterator[HistoryRow]:
        """Yield the rows that ended before an event."""
        self._observe(event)
        for change in changes:
            yield from self._history.observe_change(change)

    def _observe(self, event: Event) -> None:
        """Observe where an event stands, unless no record makes it."""
        if not event.is_absence:
            self._history.observe_record(event.record.log_offset)

    def _last(self) -> Iterator[HistoryRow]:
        """Yield the rows that the last event ended, and those that hold."""
        yield from self._history.flush()
        yield from self._history.open_rows()
