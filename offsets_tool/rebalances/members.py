"""The members of a group: a name for each that an operator knows, and who came, went and gave up partitions between two records."""

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

from offsets_tool.history.change_labels import GOES_ON, STATIC_LEFT_EPOCH, is_new
from offsets_tool.history.rows import MemberEndCause, MemberHistoryRow
from offsets_tool.rebalances.histories import GroupHistories
from offsets_tool.wire.longs import difference


def client_name(instance_id: str | None, client_id: str | None, member_id: str | None) -> str | None:
    """Return the name by which an operator knows a client, whatever member it was: its instance id, its client id or its member id.

    Others of the group may have that client id at the same time: GroupMembers.name tells these apart.
    """
    return instance_id or client_id or member_id


class Turnover(NamedTuple):
    """The changes among the members between two records of the log, in the order of the log; members by their id."""

    joined: tuple[str, ...]
    left: tuple[str, ...]
    moved: dict[str, tuple[str, str]]
    """By partition that changed hands, the members that had it and have it now."""
    resubscribed: tuple[str, ...]
    """Members that asked for other topics than before."""
    replaced: tuple[str, ...] = ()
    """Of those that left, the static members of which another took the place."""


class Revocation(NamedTuple):
    """A member that was to give up partitions, and how long it took, in milliseconds."""

    member_id: str
    partitions: int
    took: int


class GroupMembers:
    """The members of one group over its whole history."""

    def __init__(self, rows: GroupHistories) -> None:
        """Index all member_history rows of one group."""
        self._names = _names(rows.by_member)
        self._began = sorted((row.from_log_offset, at) for at, row in enumerate(rows.members))
        self._ended = sorted(
            (row.to_log_offset, at) for at, row in enumerate(rows.members) if row.to_log_offset is not None
        )
        self._rows = rows.members
        self._before = dict(_before(rows))

    def name(self, member_id: str) -> str:
        """Return the instance id of a member, its client id, with its host where others have that too, or its member id."""
        return self._names.get(member_id, member_id)

    def names(self, member_ids: Iterable[str]) -> list[str]:
        """Return the names of several members."""
        return [self.name(each) for each in member_ids]

    def turnover(self, first: int, last: int) -> Turnover:
        """Return what changed from the record at offset `first` to that at `last`."""
        began = [self._rows[at] for at in _within(self._began, first, last)]
        ended = [self._rows[at] for at in _within(self._ended, first, last)]
        return Turnover(
            tuple(row.member_id for row in began if is_new(self._before.get(id(row)), row)),
            tuple(row.member_id for row in ended if row.end_cause not in GOES_ON),
            _moved(
                [row for row in ended if row.from_log_offset < first],
                [row for row in began if row.to_log_offset is None or row.to_log_offset > last],
            ),
            tuple(row.member_id for row in began if self._is_resubscribed(row)),
            tuple(row.member_id for row in ended if row.end_cause == MemberEndCause.REPLACED),
        )

    def longest_revocation(self, first: int, last: int) -> Revocation | None:
        """Return which member took the longest to give up partitions from the record at offset `first` to that at `last`."""
        held = (
            Revocation(
                row.member_id, len(row.pending_revocation), difference(row.to_timestamp, row.from_timestamp)
            )
            for row in (self._rows[at] for at in _within(self._began, first, last))
            if row.pending_revocation and row.to_timestamp is not None
        )
        return max(held, key=lambda each: each.took, default=None)

    def away(self, first: int, last: int) -> list[str]:
        """Return the static members that said, from the record at offset `first` to that at `last`, that they would be back."""
        rows = (self._rows[at] for at in _within(self._began, first, last))
        return [row.member_id for row in rows if _is_away(row) and not _is_away(self._before.get(id(row)))]

    def _is_resubscribed(self, row: MemberHistoryRow) -> bool:
        before = self._before.get(id(row))
        if before is None or is_new(before, row):
            return False
        return (before.subscription, before.subscribed_regex) != (row.subscription, row.subscribed_regex)


def _is_away(row: MemberHistoryRow | None) -> bool:
    """Return whether a static member is away in this row, and expected back (KIP-848)."""
    return row is not None and row.member_epoch == STATIC_LEFT_EPOCH


def _within(places: Sequence[tuple[int, int]], first: int, last: int) -> Iterator[int]:
    for _, at in places[bisect_left(places, (first, -1)) : bisect_right(places, (last, 2**63))]:
        yield at


def _before(rows: GroupHistories) -> Iterator[tuple[int, MemberHistoryRow]]:
    """Yield the id() of each row that continues an earlier row of the same member, with that earlier row."""
    for of_member in rows.by_member.values():
        for before, row in pairwise(of_member):
            if before.end_cause in GOES_ON:
                yield id(row), before


def _moved(
    ended: Iterable[MemberHistoryRow], began: Iterable[MemberHistoryRow]
) -> dict[str, tuple[str, str]]:
    had = {each: row.member_id for row in ended for each in row.assignment}
    has = {each: row.member_id for row in began for each in row.assignment}
    return {each: (had[each], has[each]) for each in has if had.get(each, has[each]) != has[each]}


def _names(by_member: dict[str, list[MemberHistoryRow]]) -> dict[str, str]:
    """Return a name for each member, the shortest of those that no other member has at the same time."""
    spans: dict[str, list[tuple[str, MemberHistoryRow, MemberHistoryRow]]] = defaultdict(list)
    for member_id, rows in by_member.items():
        for name in _candidates(rows[-1]):
            spans[name].append((member_id, rows[0], rows[-1]))
    shared = {name: _overlap(some) for name, some in spans.items()}
    return {
        member_id: next((name for name in _candidates(rows[-1]) if not shared[name]), member_id)
        for member_id, rows in by_member.items()
    }


def _candidates(row: MemberHistoryRow) -> Iterator[str]:
    if row.instance_id is not None:
        yield row.instance_id
    if row.client_id:
        yield row.client_id
        if row.client_host:
            yield f"{row.client_id} on {row.client_host.lstrip('/')}"


def _overlap(spans: list[tuple[str, MemberHistoryRow, MemberHistoryRow]]) -> bool:
    """Return whether two of these members were in the group at the same time; one that replaces another was not."""
    ordered = sorted(spans, key=lambda span: span[1].from_log_offset)
    return any(
        before[2].to_log_offset is None or before[2].to_log_offset > after[1].from_log_offset
        for before, after in pairwise(ordered)
    )
