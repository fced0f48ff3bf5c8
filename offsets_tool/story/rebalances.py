"""A group's own changes in sentences: how it appeared, each rebalance with who joined, left and took over, and its end.

A rebalance of KIP-848 is one sentence from the new epoch until all members have reached it. Why it came to be is told only as far
as who came and went; findings say more.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Final, NamedTuple

from offsets_tool.findings.group_rows import GroupRows
from offsets_tool.findings.sentences import count, listed, named, span
from offsets_tool.history.change_labels import GOES_ON, group_what
from offsets_tool.history.rows import GroupEndCause, GroupHistoryRow
from offsets_tool.replay.changes import GroupKind
from offsets_tool.rows import NO_TIMESTAMP
from offsets_tool.story.members import GroupMembers, Turnover
from offsets_tool.wire.longs import difference

SETTLED: Final = ("Stable", "Empty")
"""States in which every member has what it is to have."""
_LONG_MS: Final = 5_000
"""From when on it is told how long a member took to give up partitions: a few heartbeats are usual."""
_KINDS: Final = {
    GroupKind.SIMPLE.value: "a simple group, whose clients commit without being members",
    GroupKind.CLASSIC.value: "a classic group",
    GroupKind.CONSUMER.value: "a consumer group (KIP-848)",
    GroupKind.SHARE.value: "a share group",
    GroupKind.STREAMS.value: "a streams group",
}


class _Turn(NamedTuple):
    """The end of one row of the group and the beginning of the next; one of them is None when it appears or goes."""

    before: GroupHistoryRow | None
    after: GroupHistoryRow | None
    log_offset: int
    at: int


class Rebalance(NamedTuple):
    """A change of the group, from the record that began it to the one after which it was settled; times in epoch milliseconds."""

    first: int
    last: int
    at: int
    until: int
    before: GroupHistoryRow | None
    after: GroupHistoryRow | None
    turnover: Turnover
    is_proven: bool
    """Whether no record before it is missing: only then is it known that nobody came or went."""

    @property
    def is_conversion(self) -> bool:
        """Whether the group has another kind now; that a client without members joins is none."""
        kinds = {row.kind for row in (self.before, self.after) if row is not None}
        return len(kinds - {GroupKind.SIMPLE}) > 1

    @property
    def is_unchanged(self) -> bool:
        """Whether the group was only written again: nothing of it changed that rows have."""
        if self.before is None or self.after is None or any(self.turnover) or self.is_renumbered:
            return False
        return group_what(self.before, self.after) in (None, "rewritten")

    @property
    def is_renumbered(self) -> bool:
        """Whether it began a generation or an epoch."""
        return self.after is not None and _number(self.before) != _number(self.after)


def rebalances(rows: GroupRows, members: GroupMembers) -> Iterator[Rebalance]:
    """Yield all changes of a group, in the order of the log."""
    for turns in _steps(_turns(rows.groups)):
        first, last = turns[0], turns[-1]
        yield Rebalance(
            first.log_offset,
            last.log_offset,
            first.at,
            last.at,
            first.before,
            last.after,
            members.turnover(first.log_offset, last.log_offset),
            first.log_offset >= rows.proven_from,
        )


def _turns(groups: Sequence[GroupHistoryRow]) -> Iterator[_Turn]:
    before: GroupHistoryRow | None = None
    for row in groups:
        if before is not None and not _goes_on(before, row):
            yield _end(before)
            before = None
        yield _Turn(before, row, row.from_log_offset, row.from_timestamp)
        before = row
    if before is not None and before.to_log_offset is not None:
        yield _end(before)


def _goes_on(before: GroupHistoryRow, row: GroupHistoryRow) -> bool:
    return before.end_cause in GOES_ON or before.to_log_offset == row.from_log_offset


def _end(row: GroupHistoryRow) -> _Turn:
    assert row.to_log_offset is not None and row.to_timestamp is not None
    return _Turn(row, None, row.to_log_offset, row.to_timestamp)


def _steps(turns: Iterable[_Turn]) -> Iterator[list[_Turn]]:
    """Yield the turns that are one change: written at once, or until the members have reached the epoch."""
    step: list[_Turn] = []
    for turn in turns:
        if step and not _is_one(step[-1], turn):
            yield step
            step = []
        step.append(turn)
    if step:
        yield step


def _is_one(last: _Turn, turn: _Turn) -> bool:
    before, after = last.after, turn.after
    if before is None or after is None:
        return False
    if before.generation is not None and after.generation is not None:
        return False
    if last.at == turn.at != NO_TIMESTAMP:
        return True
    same = (before.kind, before.epoch, before.members) == (after.kind, after.epoch, after.members)
    return same and before.state not in SETTLED


def _number(row: GroupHistoryRow | None) -> tuple[str, int | None] | None:
    if row is None:
        return None
    return ("generation", row.generation) if row.epoch is None else ("epoch", row.epoch)


def kind_text(kind: str) -> str:
    """Return a kind of group with its article: "a classic group"."""
    return _KINDS.get(kind, f"a {kind} group")


def rebalance_text(change: Rebalance, members: GroupMembers) -> str:
    """Return a change of a group as a sentence."""
    before, after = change.before, change.after
    if after is None:
        return _gone(before)
    details = [*_who(change, members), *_end_state(change)]
    head = _head(change)
    return f"{head}: {'; '.join(details)}." if details else f"{head}."


def _gone(before: GroupHistoryRow | None) -> str:
    if before is not None and before.end_cause == GroupEndCause.ABSENT:
        return "The group was deleted: a copy of the log that was compacted later has nothing of it."
    return "The group was deleted."


def _head(change: Rebalance) -> str:
    before, after = change.before, change.after
    assert after is not None
    if before is None:
        return f"The group appears as {kind_text(after.kind)}{_in_number(after)}"
    if change.is_conversion:
        return f"The group becomes {kind_text(after.kind)}{_in_number(after)}"
    if change.is_renumbered:
        return f"Rebalance to {_number_text(after)}"
    return (
        "Without a rebalance" if any(change.turnover) else f"The group changes: {group_what(before, after)}"
    )


def _number_text(row: GroupHistoryRow) -> str:
    word, number = _number(row) or ("generation", None)
    return f"{word} {number}"


def _in_number(row: GroupHistoryRow) -> str:
    return f", {_number_text(row)}" if row.kind != GroupKind.SIMPLE and row.members else ""


def _who(change: Rebalance, members: GroupMembers) -> Iterator[str]:
    """Yield who joined, left, leads and took over; or that nobody did."""
    joined, left, moved, resubscribed = change.turnover
    if joined:
        yield f"{listed(members.names(joined))} joined"
    if left:
        yield f"{listed(members.names(left))} left"
    is_shift = change.is_renumbered and change.before is not None
    if is_shift and change.is_proven and not (joined or left or change.is_conversion):
        yield "nobody joined or left"
    if resubscribed:
        yield f"{listed(members.names(resubscribed))} subscribed to other topics"
    yield from _new_protocol(change)
    yield from _new_leader(change, members)
    if moved:
        yield _moves(moved, members)
    yield from _held_back(change, members)


def _new_protocol(change: Rebalance) -> Iterator[str]:
    before, after = change.before, change.after
    if before is None or after is None or not (before.protocol and after.protocol):
        return
    if before.protocol != after.protocol and before.kind == after.kind:
        yield f"the protocol is {named(after.protocol)} now, it was {named(before.protocol)}"


def _new_leader(change: Rebalance, members: GroupMembers) -> Iterator[str]:
    before, after = change.before, change.after
    if before is None or after is None or not (before.leader and after.leader):
        return
    if before.leader != after.leader:
        yield f"{named(members.name(after.leader))} leads now"


def _held_back(change: Rebalance, members: GroupMembers) -> Iterator[str]:
    """Yield who took the longest to give up partitions that others waited for, if that was long."""
    held = members.longest_held(change.first, change.last)
    if held is not None and held.took >= _LONG_MS:
        yield f"{named(members.name(held.member_id))} took {span(held.took)} to give up {count(held.partitions, 'partition')}"


def _moves(moved: dict[str, tuple[str, str]], members: GroupMembers) -> str:
    """Return which member took over how much, or how many partitions changed hands."""
    givers, takers = ({members.name(pair[side]) for pair in moved.values()} for side in (0, 1))
    what = count(len(moved), "partition")
    if len(takers) > 1:
        return f"{what} changed hands"
    of = f" from {named(*givers)}" if len(givers) == 1 and givers != takers else ""
    return f"{named(*takers)} took over {what}{of}"


def _end_state(change: Rebalance) -> Iterator[str]:
    before, after = change.before, change.after
    assert after is not None
    if before is not None and before.members and not after.members:
        yield "the group is empty"
    elif after.members and (any(change.turnover) or change.is_renumbered):
        yield count(after.members, "member") + _settled(change)
    elif before is None and after.kind != GroupKind.SIMPLE:
        yield "no members yet"


def _settled(change: Rebalance) -> str:
    after = change.after
    if after is None or after.epoch is None:
        return ""
    if after.state not in SETTLED:
        return ", which had not all reached it before the next change" if after.to_log_offset else ""
    took = difference(change.until, change.at)
    return f", settled after {span(took)}" if took > 0 else ""
