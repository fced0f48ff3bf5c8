"""History as a list of happenings: what happened, to whom, what was before and what is after.

A batch at a time, so that a conversion is one happening and not a deletion and a creation, and a generation says who came and
went. Decides nothing that the rows do not say already.
"""

from collections.abc import Callable, Iterable, Iterator
from enum import StrEnum
from typing import Any, NamedTuple

from offsets_tool.as_of.views_groups import GROUP_FIELDS
from offsets_tool.history.change_labels import GOES_ON, group_what, is_new, member_what, offset_what
from offsets_tool.history.history import RowChange
from offsets_tool.history.rows import GroupHistoryRow, LastingRow, MemberHistoryRow, OffsetHistoryRow
from offsets_tool.replay.changes import OffsetOf, PendingOf, Subject

ChangeFacts = dict[str, Any]


class HappeningKind(StrEnum):
    """The kind of subject that a happening is about."""

    OFFSETS = "offsets"
    GROUPS = "groups"
    MEMBERS = "members"
    ANOMALIES = "anomalies"


class Happening(NamedTuple):
    """One line of history.

    `member_id` and the fields after it say who owned an offset's partition, or who the member is; `is_owner_known` is for offsets
    only. `before` and `after` have the fields that differ, or all fields where one of them is None. `timestamp` is the record's,
    in epoch milliseconds.
    """

    timestamp: int
    log_partition: int | None
    log_offset: int
    kind: HappeningKind
    group: str | None
    what: str
    topic: str | None = None
    partition: int | None = None
    before: ChangeFacts | None = None
    after: ChangeFacts | None = None
    delta: int | None = None
    producer_id: int | None = None
    generation: int | None = None
    group_epoch: int | None = None
    member_epoch: int | None = None
    is_owner_known: bool | None = None
    member_id: str | None = None
    instance_id: str | None = None
    client_id: str | None = None
    client_host: str | None = None
    joined: tuple[str, ...] = ()
    left: tuple[str, ...] = ()
    note: str | None = None


class _Story(NamedTuple):
    """The row changes that one record made of one subject, put together.

    `before` may be a row that the batch ended earlier, in order to bring the subject back.
    """

    turn: RowChange
    before: LastingRow | None
    after: LastingRow | None


def tell(turns: Iterable[RowChange]) -> Iterator[Happening]:
    """Yield the happenings of one batch of row changes, in the order of the log."""
    stories = list(_stories(turns))
    moves = _came_and_went(stories)
    for story in stories:
        happening = _happening(story, moves)
        if happening is not None:
            yield happening


def _stories(turns: Iterable[RowChange]) -> Iterator[_Story]:
    """Yield a story for each subject and record, and one for each anomaly."""
    told: dict[tuple[Subject, int], _Story] = {}
    resting: dict[Subject, LastingRow] = {}
    for number, turn in enumerate(turns):
        subject, at = turn.change.subject, turn.change.log_offset
        if turn.anomaly is not None:
            told[subject, -1 - number] = _Story(turn, None, None)
            continue
        earlier = told.pop((subject, at), None)
        before = turn.before if earlier is None else _ended(earlier.before, turn)
        if turn.after is None and turn.before is not None and turn.before.end_cause in GOES_ON:
            resting[subject] = turn.before
        elif before is None:
            before = resting.pop(subject, None)
        told[subject, at] = _Story(turn, before, turn.after)
    yield from told.values()


def _ended(before: LastingRow | None, turn: RowChange) -> LastingRow | None:
    """Return the row that held before a record, ended as the record's last change left its subject."""
    if before is None or turn.before is None or turn.after is not None:
        return before
    return before._replace(end_cause=turn.before.end_cause)


_Moves = dict[tuple[str, int], tuple[list[str], list[str]]]
"""By group and log offset, the members that joined and those that left."""


def _came_and_went(stories: list[_Story]) -> _Moves:
    found: _Moves = {}
    for story in stories:
        row = story.after or story.before
        if not isinstance(row, MemberHistoryRow):
            continue
        joined, left = found.setdefault((row.group, story.turn.change.log_offset), ([], []))
        if story.after is None and row.end_cause not in GOES_ON:
            left.append(row.member_id)
        elif is_new(story.before, story.after):
            joined.append(row.member_id)
    return found


def _happening(story: _Story, moves: _Moves) -> Happening | None:
    if story.turn.anomaly is not None:
        return _anomaly(story.turn)
    row = story.after or story.before
    if row is None:
        return None
    teller = _TELLERS[type(row)]
    what = teller.what(story.before, story.after)
    if what is None:
        return None
    happening = _placed(story.turn, teller.kind, row.group, what)._replace(
        before=_facts(story.before, story.after, teller.fields),
        after=_facts(story.after, story.before, teller.fields),
        **{name: getattr(row, name) for name in teller.who},
    )
    if isinstance(row, GroupHistoryRow):
        joined, left = moves.get((row.group, happening.log_offset), ((), ()))
        return happening._replace(group_epoch=row.epoch, joined=tuple(joined), left=tuple(left))
    return happening


def _placed(turn: RowChange, kind: HappeningKind, group: str | None, what: str) -> Happening:
    change = turn.change
    return Happening(change.timestamp, change.log_partition, change.log_offset, kind, group, what)


def _anomaly(turn: RowChange) -> Happening:
    assert turn.anomaly is not None
    told = _placed(turn, HappeningKind.ANOMALIES, turn.anomaly.group, "anomaly")
    subject = turn.change.subject
    if isinstance(subject, OffsetOf | PendingOf):
        told = told._replace(topic=subject.topic, partition=subject.partition)
    elif turn.anomaly.about is not None:
        told = told._replace(member_id=turn.anomaly.about)
    return told._replace(note=turn.anomaly.note)


def _facts(row: LastingRow | None, other: LastingRow | None, fields: tuple[str, ...]) -> ChangeFacts | None:
    """Return the fields of a row that differ from the other row's; all fields of an offset, which are few."""
    if row is None:
        return None
    different = other is not None and not isinstance(row, OffsetHistoryRow)
    return {
        name: getattr(row, name)
        for name in fields
        if not different or getattr(row, name) != getattr(other, name)
    }


class _Teller(NamedTuple):
    """How to describe one kind of row: the label of what happened, the fields to show, the fields that say who."""

    kind: HappeningKind
    what: Callable[[LastingRow | None, LastingRow | None], str | None]
    fields: tuple[str, ...]
    who: tuple[str, ...]


_CLIENT = ("member_id", "instance_id", "client_id", "client_host", "member_epoch", "generation")
_TELLERS = {
    OffsetHistoryRow: _Teller(
        HappeningKind.OFFSETS,
        offset_what,
        (
            "committed_offset",
            "leader_epoch",
            "metadata",
            "commit_timestamp",
            "expire_timestamp",
            "is_effective",
        ),
        (*_CLIENT, "topic", "partition", "delta", "producer_id", "group_epoch", "is_owner_known"),
    ),
    GroupHistoryRow: _Teller(
        HappeningKind.GROUPS,
        group_what,
        GROUP_FIELDS,
        ("generation",),
    ),
    MemberHistoryRow: _Teller(
        HappeningKind.MEMBERS,
        member_what,
        (
            "member_epoch",
            "member_state",
            "subscription",
            "subscribed_regex",
            "assignment",
            "pending_revocation",
            "target_assignment",
        ),
        _CLIENT,
    ),
}
