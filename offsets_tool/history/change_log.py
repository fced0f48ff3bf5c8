"""History as a list of happenings, each with its subject and the subject's fields before and after.

It looks at a whole batch, so that a conversion is one happening, not a deletion and a creation, and a generation names the members
that came and went. It adds nothing to what the rows say.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from enum import StrEnum
from typing import Any, NamedTuple, Protocol

from offsets_tool.as_of.views_groups import GROUP_FIELDS
from offsets_tool.history.change_labels import GOES_ON, group_label, is_new, member_label, offset_label
from offsets_tool.history.history import RowChange
from offsets_tool.history.rows import (
    GroupHistoryRow,
    LastingRow,
    MemberHistoryRow,
    OffsetEndCause,
    OffsetHistoryRow,
)
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


class WantedHappenings(Protocol):
    """What happenings are made of; but for commits, those of a wanted group always are."""

    @property
    def is_any_wanted(self) -> bool:
        """Whether any are wanted: not once more came than could be kept."""
        ...

    def wants_group(self, group: str) -> bool:
        """Return whether what happens to a group, or its members, may be wanted."""
        ...

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
    json_of: Callable[[Any], str]
    time_of: Callable[[int], str | None]


class _SubjectChange(NamedTuple):
    """The row changes that one record made of one subject, put together.

    `before` may be a row that the batch ended earlier, in order to bring the subject back.
    """

    row_change: RowChange
    before: LastingRow | None
    after: LastingRow | None


def batch_happenings(row_changes: Iterable[RowChange]) -> Iterator[Happening]:
    """Yield the happenings of one batch of row changes, in the order of the log."""
    return (happening for _, happening in told_changes(row_changes))


def told_changes(row_changes: Iterable[RowChange]) -> Iterator[tuple[RowChange, Happening]]:
    """Yield the happenings of one batch of row changes as `batch_happenings` does, each with the last change that it tells of."""
    subject_changes = list(_by_subject(row_changes))
    moves = _came_and_went(subject_changes)
    for subject_change in subject_changes:
        happening = _happening(subject_change, moves)
        if happening is not None:
            yield subject_change.row_change, happening


def _by_subject(row_changes: Iterable[RowChange]) -> Iterator[_SubjectChange]:
    """Yield what each record changed of each subject, and each anomaly."""
    found: dict[tuple[Subject, tuple[int, bool]], _SubjectChange] = {}
    resting: dict[Subject, LastingRow] = {}
    for number, row_change in enumerate(row_changes):
        ended = row_change.before
        # An absence is none of the record at whose offset it stands.
        is_absence = isinstance(ended, OffsetHistoryRow) and ended.end_cause == OffsetEndCause.ABSENT
        subject, at = row_change.change.subject, (row_change.change.log_offset, is_absence)
        if row_change.anomaly is not None:
            found[subject, (-1 - number, False)] = _SubjectChange(row_change, None, None)
            continue
        earlier = found.pop((subject, at), None)
        before = row_change.before if earlier is None else _ended(earlier.before, row_change)
        if (
            row_change.after is None
            and row_change.before is not None
            and row_change.before.end_cause in GOES_ON
        ):
            resting[subject] = row_change.before
        elif before is None:
            before = resting.pop(subject, None)
        found[subject, at] = _SubjectChange(row_change, before, row_change.after)
    yield from found.values()


def _ended(before: LastingRow | None, row_change: RowChange) -> LastingRow | None:
    """Return the row of a subject before a record, with the cause by which the record's last change ended it."""
    if before is None or row_change.before is None or row_change.after is not None:
        return before
    return before._replace(end_cause=row_change.before.end_cause)


_Moves = dict[tuple[str, int], tuple[list[str], list[str]]]
"""By group and log offset, the members that joined and those that left."""


def _came_and_went(subject_changes: list[_SubjectChange]) -> _Moves:
    found: _Moves = {}
    for subject_change in subject_changes:
        row = subject_change.after or subject_change.before
        if not isinstance(row, MemberHistoryRow):
            continue
        joined, left = found.setdefault((row.group, subject_change.row_change.change.log_offset), ([], []))
        if subject_change.after is None and row.end_cause not in GOES_ON:
            left.append(row.member_id)
        elif is_new(subject_change.before, subject_change.after):
            joined.append(row.member_id)
    return found


def _happening(subject_change: _SubjectChange, moves: _Moves) -> Happening | None:
    if subject_change.row_change.anomaly is not None:
        return _anomaly(subject_change.row_change)
    row = subject_change.after or subject_change.before
    if row is None:
        return None
    description = _DESCRIPTIONS[type(row)]
    what = description.label(subject_change.before, subject_change.after)
    if what is None:
        return None
    happening = _placed(subject_change.row_change, description.kind, row.group, what)._replace(
        before=_facts(subject_change.before, subject_change.after, description.fields),
        after=_facts(subject_change.after, subject_change.before, description.fields),
        **{name: getattr(row, name) for name in description.who},
    )
    if isinstance(row, GroupHistoryRow):
        joined, left = moves.get((row.group, happening.log_offset), ((), ()))
        return happening._replace(group_epoch=row.epoch, joined=tuple(joined), left=tuple(left))
    return happening


def _placed(row_change: RowChange, kind: HappeningKind, group: str | None, what: str) -> Happening:
    change = row_change.change
    return Happening(change.timestamp, change.log_partition, change.log_offset, kind, group, what)


def _anomaly(row_change: RowChange) -> Happening:
    assert row_change.anomaly is not None
    found = _placed(row_change, HappeningKind.ANOMALIES, row_change.anomaly.group, "anomaly")
    subject = row_change.change.subject
    if isinstance(subject, OffsetOf | PendingOf):
        found = found._replace(topic=subject.topic, partition=subject.partition)
    elif row_change.anomaly.about is not None:
        found = found._replace(member_id=row_change.anomaly.about)
    return found._replace(note=row_change.anomaly.note)


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


class _Description(NamedTuple):
    """How to describe one kind of row: the label of what happened, the fields to show, the fields that say who."""

    kind: HappeningKind
    label: Callable[[LastingRow | None, LastingRow | None], str | None]
    fields: tuple[str, ...]
    who: tuple[str, ...]


_CLIENT = ("member_id", "instance_id", "client_id", "client_host", "member_epoch", "generation")
_DESCRIPTIONS = {
    OffsetHistoryRow: _Description(
        HappeningKind.OFFSETS,
        offset_label,
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
    GroupHistoryRow: _Description(
        HappeningKind.GROUPS,
        group_label,
        GROUP_FIELDS,
        ("generation",),
    ),
    MemberHistoryRow: _Description(
        HappeningKind.MEMBERS,
        member_label,
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
