"""Two moments of one log compared: groups, members, owners of partitions and committed offsets that differ, a row each.

Compares what the views of each moment show, so every row agrees with them. A value that the log proves at one of the moments only
differs as `unknown`; one that it proves at neither does not. Knows nothing of what happened in between: history tells that.
"""

from collections.abc import Iterable, Iterator, Mapping
from enum import StrEnum
from operator import itemgetter
from typing import Any, Final, NamedTuple

from offsets_tool.as_of.selection import Wanted
from offsets_tool.as_of.snapshot import Snapshot
from offsets_tool.as_of.views_describe import owned_partitions
from offsets_tool.as_of.views_groups import GROUP_FIELDS, group_rows
from offsets_tool.as_of.views_members import member_rows
from offsets_tool.as_of.views_offsets import NO_COMMIT, offset_rows
from offsets_tool.replay.changes import GroupOf, OffsetOf
from offsets_tool.rows import Row


class Compared(StrEnum):
    """What a difference is about, in the order in which the rows of a group come."""

    GROUP = "group"
    MEMBER = "member"
    OWNER = "owner"
    """Which members a partition is assigned to."""
    OFFSET = "offset"


class Difference(StrEnum):
    """How a subject differs between the first moment and the second."""

    APPEARED = "appeared"
    GONE = "gone"
    CHANGED = "changed"
    UNKNOWN = "unknown"
    """The log does not prove the value at one of the moments: compaction took its records."""


class _Subject(NamedTuple):
    """The subject that is compared at both moments; rows are in the order of their subjects."""

    group: str
    log_partition: int
    """-1 where no source says it; a group may have records in several, if somebody else wrote there."""
    rank: int
    topic: str = ""
    partition: int = -1
    member_id: str = ""


class _FieldsAt(NamedTuple):
    """The fields of a subject at a moment; None where the log does not prove them."""

    fields: Row | None
    log_offset: int | None = None


_RANKS: Final = {each: rank for rank, each in enumerate(Compared)}
_OF_ITS_GROUP: Final = (_RANKS[Compared.MEMBER], _RANKS[Compared.OWNER])
_OF_GROUP: Final = (*GROUP_FIELDS, "topology_epoch")
_OF_OFFSET: Final = (*NO_COMMIT, "pending")
_NOT_OF_MEMBER: Final = frozenset(
    # The group's own row has these, or they say where the member is.
    ("group", "member_id", "kind", "generation", "log_partition", "is_proven")
)


def difference_rows(before: Snapshot, after: Snapshot, wanted: Wanted | None = None) -> list[Row]:
    """Return what differs between two moments of the same log, a dictionary each, by group, subject, topic and partition.

    `from` and `to` have all compared fields at either moment, None where there was nothing or nothing is proven; `fields` names
    those that differ; `delta` is how far a committed offset moved. `wanted` chooses groups and topics; with topics, only owners
    and offsets are compared.

    >>> from offsets_tool import snapshot_of
    >>> moments = [snapshot_of("fixtures/corpora/3.9.2-txn/segments", as_of=f"3:{end}") for end in (1, 4)]
    >>> [(row["subject"], row["difference"], row["fields"], row["delta"]) for row in difference_rows(*moments)]
    [('offset', 'changed', ['pending'], 0)]
    """
    asked = wanted or Wanted()
    held, holds = _fields_at(before, asked), _fields_at(after, asked)
    unproven = _unproven_groups(before) | _unproven_groups(after)
    found = (
        _row(subject, held.get(subject), holds.get(subject))
        for subject in sorted(held.keys() | holds)
        if subject.rank not in _OF_ITS_GROUP or subject[:2] not in unproven
    )
    return [row for row in found if row is not None]


def _unproven_groups(snapshot: Snapshot) -> set[tuple[str, int]]:
    """Return the groups of which the snapshot proves nothing, not even their members, each with its log partition."""
    return {
        (subject.group, _number(p.log_partition))
        for p in snapshot
        for subject in p.unknown
        if isinstance(subject, GroupOf)
    }


def _row(subject: _Subject, before: _FieldsAt | None, after: _FieldsAt | None) -> Row | None:
    difference = _difference(before, after)
    if difference is None:
        return None
    from_, to = (each.fields if each else None for each in (before, after))
    compared = tuple(Compared)[subject.rank]
    is_partition = compared in (Compared.OWNER, Compared.OFFSET)
    return {
        "group": subject.group,
        "subject": compared.value,
        "topic": subject.topic if is_partition else None,
        "partition": subject.partition if is_partition else None,
        "member_id": subject.member_id if compared is Compared.MEMBER else None,
        "difference": difference.value,
        "fields": [name for name in from_ if from_[name] != to[name]] if from_ and to else [],
        "from": from_,
        "to": to,
        "delta": _delta(from_, to) if compared is Compared.OFFSET else None,
        "log_partition": None if subject.log_partition < 0 else subject.log_partition,
        "from_log_offset": before.log_offset if before else None,
        "to_log_offset": after.log_offset if after else None,
        "from_is_proven": not _is_unproven(before),
        "to_is_proven": not _is_unproven(after),
    }


def _difference(before: _FieldsAt | None, after: _FieldsAt | None) -> Difference | None:
    """Return how a subject differs; None where it does not."""
    if before is not None and after is not None and before.fields == after.fields:
        return None
    if _is_unproven(before) or _is_unproven(after):
        return Difference.UNKNOWN
    if before is None or after is None:
        return Difference.APPEARED if before is None else Difference.GONE
    return Difference.CHANGED


def _is_unproven(held: _FieldsAt | None) -> bool:
    return held is not None and held.fields is None


def _delta(before: Mapping[str, Any] | None, after: Mapping[str, Any] | None) -> int | None:
    ends = [fields["committed_offset"] for fields in (before, after) if fields is not None]
    return ends[1] - ends[0] if len(ends) == 2 and all(end is not None and end >= 0 for end in ends) else None


def _fields_at(snapshot: Snapshot, wanted: Wanted) -> dict[_Subject, _FieldsAt]:
    of_all = [] if wanted.topics else [*_groups(snapshot, wanted), *_members(snapshot, wanted)]
    return dict((*of_all, *_owners(snapshot, wanted), *_offsets(snapshot, wanted)))


def _groups(snapshot: Snapshot, wanted: Wanted) -> Iterator[tuple[_Subject, _FieldsAt]]:
    for row in group_rows(snapshot, wanted):
        yield _subject(Compared.GROUP, row), _proven(row, _OF_GROUP)


def _members(snapshot: Snapshot, wanted: Wanted) -> Iterator[tuple[_Subject, _FieldsAt]]:
    for row in member_rows(snapshot, wanted):
        subject = _subject(Compared.MEMBER, row)._replace(member_id=row["member_id"])
        yield subject, _proven(row, (name for name in row if name not in _NOT_OF_MEMBER))


def _owners(snapshot: Snapshot, wanted: Wanted) -> Iterator[tuple[_Subject, _FieldsAt]]:
    """Yield each assigned partition with its owners, which are several in a share group alone."""
    for p in snapshot:
        owners: dict[OffsetOf, list[Row]] = {}
        for offset, owner in owned_partitions(snapshot, p, wanted):
            owners.setdefault(offset, []).append(owner)
        for offset, found in owners.items():
            found.sort(key=itemgetter("member_id"))
            row = {**offset._asdict(), "log_partition": p.log_partition}
            yield _subject(Compared.OWNER, row), _FieldsAt({"owners": found})


def _offsets(snapshot: Snapshot, wanted: Wanted) -> Iterator[tuple[_Subject, _FieldsAt]]:
    for row in offset_rows(snapshot, wanted):
        row["pending"].sort(key=itemgetter("producer_id"))
        yield _subject(Compared.OFFSET, row), _proven(row, _OF_OFFSET)


def _subject(compared: Compared, row: Row) -> _Subject:
    topic, partition = row.get("topic", ""), row.get("partition", -1)
    return _Subject(row["group"], _number(row["log_partition"]), _RANKS[compared], topic, partition)


def _number(log_partition: int | None) -> int:
    return -1 if log_partition is None else log_partition


def _proven(row: Row, names: Iterable[str]) -> _FieldsAt:
    fields = {name: row[name] for name in names} if row["is_proven"] else None
    return _FieldsAt(fields, row.get("log_offset"))
