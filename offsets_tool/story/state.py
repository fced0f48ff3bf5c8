"""Sentences on the state of a group after its last row: kind, members, offsets, pending commits, and what will expire.

It is the state at the moment up to which the log was replayed.
"""

from collections.abc import Iterator

from offsets_tool.as_of.selection import Wanted
from offsets_tool.as_of.transactions import TransactionOutcome
from offsets_tool.findings.group_rows import GroupRows
from offsets_tool.findings.sentences import count, listed, of_topics
from offsets_tool.history.rows import AnomalyRow, MemberHistoryRow, OffsetEndCause, OffsetHistoryRow
from offsets_tool.rebalances.members import GroupMembers
from offsets_tool.replay.changes import GroupKind, GroupState, TopicPartition, is_unread_note
from offsets_tool.story.rebalances import kind_text
from offsets_tool.story.sentence import when
from offsets_tool.story.story import concerns

_ALL = Wanted()


def state_sentences(rows: GroupRows, moment: str, wanted: Wanted = _ALL) -> Iterator[str]:
    """Yield sentences on the group's state; `moment` begins the first: "At the end of the log"."""
    yield f"{moment}, {_group(rows)}."
    held = [
        row
        for row in rows.offsets
        if row.to_log_offset is None and concerns(wanted, row.topic, row.partition)
    ]
    effective = [row for row in held if row.is_effective and row.committed_offset >= 0]
    unread = _unread(rows, wanted)
    if wanted.partition is not None and len(effective) < 2 and not unread:
        yield _one_offset(effective) if effective else f"There is no committed offset{_reason(rows)}."
    elif effective or not unread:
        yield _offsets(effective) if effective else f"It has no committed offset{_reason(rows)}."
    negative = sum(row.is_effective and row.committed_offset < 0 for row in held)
    if negative:
        yield f"In {count(negative, 'partition')} a negative number is committed, which is no offset."
    if unread:
        yield f"What it has committed in {count(unread, 'partition')} is unknown: the newest commits there were not understood."
    yield from _pending(rows)
    yield from _expiry(rows, wanted)


def state_words(rows: GroupRows) -> str:
    """Return the group's state in a few words for a table; "deleted" where it is gone."""
    last = rows.groups[-1] if rows.groups else None
    if last is None:
        return "unknown"
    if last.to_log_offset is not None:
        return "deleted"
    return "simple" if last.kind == GroupKind.SIMPLE else last.state


def _group(rows: GroupRows) -> str:
    last = rows.groups[-1] if rows.groups else None
    if last is None:
        return "no record of the group itself is left in this log"
    if last.to_log_offset is not None:
        return f"the group is gone, since {when(last.to_timestamp)}"
    if last.kind == GroupKind.SIMPLE:
        return f"the group is {kind_text(last.kind)}"
    epoch = f"generation {last.generation}" if last.epoch is None else f"epoch {last.epoch}"
    since = f"{last.state} since {when(last.from_timestamp)} ({epoch})"
    if last.state == GroupState.UNKNOWN:
        since = f"whose state is unknown since {when(last.from_timestamp)}, as a record was not understood; before that: {epoch}"
    return f"the group is {kind_text(last.kind)}, {since}{_members(rows)}"


def present_members(rows: GroupRows) -> list[str]:
    """Return the names of the group's members after its last row."""
    there = [row.member_id for row in rows.members if row.to_log_offset is None and _is_member(row)]
    return GroupMembers(rows).names(there) if there else []


def _members(rows: GroupRows) -> str:
    names = present_members(rows)
    return f", with {count(len(names), 'member')}: {listed(names)}" if names else ""


def _is_member(row: MemberHistoryRow) -> bool:
    return row.member_state is not None or row.generation is not None


def _offsets(held: list[OffsetHistoryRow]) -> str:
    last = max(held, key=lambda row: row.from_log_offset)
    return (
        f"It has {count(len(held), 'committed offset')} {of_topics([row.topic for row in held])}, "
        f"the last committed at {when(last.from_timestamp)}."
    )


def _reason(rows: GroupRows) -> str:
    """Return why a group can have no committed offset; nothing where it can have some."""
    is_share = bool(rows.groups) and rows.groups[-1].kind == GroupKind.SHARE
    return ", as share groups have none: their positions are in __share_group_state" if is_share else ""


def _unread(rows: GroupRows, wanted: Wanted) -> int:
    """Return in how many partitions nobody knows the committed offset, as the record that set it was not understood."""
    ends = rows.offsets.by_partition.end_causes
    if rows.groups and rows.groups[-1].to_log_offset is not None:
        return 0
    first = {
        at for row in rows.anomalies if is_unread_note(row.note) and (at := _partition_of(row)) not in ends
    }
    ended = {at for at, end in ends.items() if end == OffsetEndCause.UNREAD}
    return sum(at is not None and concerns(wanted, *at) for at in ended | first)


def _partition_of(row: AnomalyRow) -> TopicPartition | None:
    """Return the topic and partition that an anomaly is about; None where it is about a group, a member or none."""
    topic, _, number = (row.about or "").rpartition("-")
    return TopicPartition(topic, int(number)) if topic and number.isdecimal() else None


def _one_offset(held: list[OffsetHistoryRow]) -> str:
    row = held[0]
    return f"The committed offset is {row.committed_offset:,}, since {when(row.from_timestamp)}."


def _pending(rows: GroupRows) -> Iterator[str]:
    waiting = [row for row in rows.transactions if row.outcome == TransactionOutcome.OPEN]
    if waiting:
        yield (
            f"{count(len(waiting), 'transaction')} {'is' if len(waiting) == 1 else 'are'} open, "
            f"the oldest since {when(min(row.first_timestamp for row in waiting))}."
        )


def _expiry(rows: GroupRows, wanted: Wanted) -> Iterator[str]:
    ends = [
        row.expires_at
        for row in rows.live
        if row.expires_at is not None and concerns(wanted, row.topic, row.partition)
    ]
    if ends:
        yield f"The next of its offsets to expire does so at {when(min(ends))}."
