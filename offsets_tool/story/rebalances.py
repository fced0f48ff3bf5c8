"""A group's own changes in sentences: how it appeared, each rebalance with who joined, left and took over, and its end.

A rebalance of KIP-848 is one sentence from the new epoch until all members have reached it. Why it came to be is told only as far
as who came and went; findings say more.
"""

from collections.abc import Iterator
from typing import Final

from offsets_tool.findings.sentences import count, listed, named, span
from offsets_tool.history.change_labels import group_label
from offsets_tool.history.rows import GroupEndCause, GroupHistoryRow
from offsets_tool.rebalances.holdings import StepHoldings
from offsets_tool.rebalances.members import GroupMembers
from offsets_tool.rebalances.steps import SETTLED, GroupStep, number_of
from offsets_tool.replay.changes import GroupKind
from offsets_tool.wire.longs import difference

_LONG_MS: Final = 5_000
"""From when on it is told how long a member took to give up partitions: a few heartbeats are usual."""
_KINDS: Final = {
    GroupKind.SIMPLE.value: "a simple group, whose clients commit without being members",
    GroupKind.CLASSIC.value: "a classic group",
    GroupKind.CONSUMER.value: "a consumer group (KIP-848)",
    GroupKind.SHARE.value: "a share group",
    GroupKind.STREAMS.value: "a streams group",
}


def kind_text(kind: str) -> str:
    """Return a kind of group with its article: "a classic group"."""
    return _KINDS.get(kind, f"a {kind} group")


def rebalance_text(change: GroupStep, members: GroupMembers, holdings: StepHoldings) -> str:
    """Return a change of a group as a sentence; `holdings` says who owned which partitions before and after it."""
    before, after = change.before, change.after
    if after is None:
        return _deletion(before)
    away = members.away(change.first, change.last)
    details = [*_away(away, members), *_who(change, members, holdings), *_end_state(change)]
    head = _head(change, is_of_members=any(change.turnover) or bool(away))
    return f"{head}: {'; '.join(details)}." if details else f"{head}."


def _deletion(before: GroupHistoryRow | None) -> str:
    if before is not None and before.end_cause == GroupEndCause.ABSENT:
        return "The group was deleted: a copy of the log that was compacted later has nothing of it."
    if before is not None and before.kind == GroupKind.SIMPLE:
        return "The group is gone, as it has no offset any more."
    return "The group was deleted."


def _head(change: GroupStep, *, is_of_members: bool) -> str:
    before, after = change.before, change.after
    assert after is not None
    if before is None:
        return f"The group appears as {kind_text(after.kind)}{_in_number(after)}"
    if change.is_conversion:
        return f"The group becomes {kind_text(after.kind)}{_in_number(after)}"
    if change.is_renumbered:
        return f"Rebalance to {_number_text(after)}"
    return "Without a rebalance" if is_of_members else f"The group changes: {group_label(before, after)}"


def _number_text(row: GroupHistoryRow) -> str:
    word, number = number_of(row) or ("generation", None)
    return f"{word} {number}"


def _in_number(row: GroupHistoryRow) -> str:
    return f", {_number_text(row)}" if row.kind != GroupKind.SIMPLE and row.members else ""


def _who(change: GroupStep, members: GroupMembers, holdings: StepHoldings) -> Iterator[str]:
    """Yield texts on who joined, left, leads, gave up and took over partitions in a change of a group, or that nobody did."""
    joined, left, moved, resubscribed = change.turnover[:4]
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
    if moved := moved | _handed_out(change, holdings):
        yield _moves(moved, members)
    yield from _gave_up(change, members, holdings)
    yield from _held_back(change, members)


def _away(away: list[str], members: GroupMembers) -> Iterator[str]:
    """Yield which static members left for now; nothing for none."""
    if away:
        yield f"{listed(members.names(away))} left for now: a static member keeps its partitions until its session ends"


def _new_protocol(change: GroupStep) -> Iterator[str]:
    before, after, protocol = change.before, change.after, change.protocol_before
    if before is None or after is None or not (protocol and after.protocol):
        return
    if protocol != after.protocol and before.kind == after.kind:
        yield f"the protocol is {named(after.protocol)} now, it was {named(protocol)}"


def _new_leader(change: GroupStep, members: GroupMembers) -> Iterator[str]:
    before, after = change.before, change.after
    if before is None or after is None or not (before.leader and after.leader):
        return
    if before.leader != after.leader:
        yield f"{named(members.name(after.leader))} leads now"


def _held_back(change: GroupStep, members: GroupMembers) -> Iterator[str]:
    """Yield who took the longest to give up partitions that others waited for, if that was long."""
    held = members.longest_revocation(change.first, change.last)
    if held is not None and held.took >= _LONG_MS:
        yield f"{named(members.name(held.member_id))} took {span(held.took)} to give up {count(held.partitions, 'partition')}"


def _handed_out(change: GroupStep, holdings: StepHoldings) -> dict[str, tuple[str, str]]:
    """Return, by partition, who had and who has those that nobody held: given up in the generation before (KIP-429)."""
    if change.after is None or change.after.kind != GroupKind.CLASSIC:
        return {}
    unheld = holdings.had.keys() - holdings.held
    pairs = {each: (holdings.had[each], holdings.has[each]) for each in unheld & holdings.has.keys()}
    return {each: pair for each, pair in pairs.items() if pair[0] != pair[1]}


def _gave_up(change: GroupStep, members: GroupMembers, holdings: StepHoldings) -> Iterator[str]:
    """Yield who gave up partitions of a classic group that nobody holds after it."""
    if change.after is None or change.after.kind != GroupKind.CLASSIC:
        return
    givers = [
        holdings.had[partition]
        for partition in holdings.held - holdings.has.keys()
        if holdings.had.get(partition) in holdings.after
    ]
    if givers:
        yield f"{listed(sorted(members.names(givers)))} gave up {count(len(givers), 'partition')}"


def _moves(moved: dict[str, tuple[str, str]], members: GroupMembers) -> str:
    """Return a text on which member took over how many partitions from whom, or on how many partitions changed their owner."""
    givers, takers = ({members.name(pair[side]) for pair in moved.values()} for side in (0, 1))
    what = count(len(moved), "partition")
    if len(takers) > 1:
        return f"{what} changed hands"
    of = f" from {named(*givers)}" if len(givers) == 1 and givers != takers else ""
    return f"{named(*takers)} took over {what}{of}"


def _end_state(change: GroupStep) -> Iterator[str]:
    before, after = change.before, change.after
    assert after is not None
    if before is not None and before.members and not after.members:
        yield "the group is empty"
    elif after.members and (any(change.turnover) or change.is_renumbered):
        yield count(after.members, "member") + _settled(change)
    elif before is None and after.kind != GroupKind.SIMPLE:
        yield "no members yet"


def _settled(change: GroupStep) -> str:
    after = change.after
    if after is None or after.epoch is None:
        return ""
    if after.state not in SETTLED:
        return ", which had not all reached it before the next change" if after.to_log_offset else ""
    took = difference(change.until, change.at)
    return f", settled after {span(took)}" if took > 0 else ""
