"""Audits of a group's assignments by the rules of its assignor, made change by change: a row for each generation or epoch.

A classic group's record has all that its leader knew but the number of partitions. A target assignment of a consumer group is
looked at when its epoch is written, together with the target before it; where the log has lost records, nothing is decided.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from itertools import chain
from typing import Annotated, Final, NamedTuple

from offsets_tool.assignors.audit import Agreement, Audit, audit
from offsets_tool.assignors.subscriptions import Assignment, Partition, Subscriptions
from offsets_tool.history.owners import NameOf
from offsets_tool.history.rows import Group as GroupName
from offsets_tool.history.subscribed import (
    Recorded,
    least_counts,
    of_classic,
    of_consumer,
    recorded_counts,
)
from offsets_tool.replay.changes import (
    Change,
    Group,
    GroupKind,
    GroupOf,
    Member,
    MemberOf,
    classic_value,
)
from offsets_tool.replay.member_records import CONSUMER_PROTOCOL, client_of
from offsets_tool.replay.state import State
from offsets_tool.table_rows import LogPartition
from offsets_tool.wire.schema import Int32, Int64, String


class AssignmentAuditRow(NamedTuple):
    """An assignment, and whether the group's assignor gives it."""

    group: GroupName
    group_kind: Annotated[String, "classic, consumer, share or streams."]
    generation: Annotated[Int32 | None, "Generation of a classic group; null for other kinds."]
    assignment_epoch: Annotated[Int32 | None, "Epoch of the target assignment; null in classic groups."]
    assignor: Annotated[
        String | None,
        "The assignor: what a classic group agreed on, or what most members of a consumer group ask for; null if no record says "
        "it.",
    ]
    members: Annotated[Int32, "Number of members."]
    partitions: Annotated[Int32, "Number of partitions that were assigned."]
    agreement: Annotated[String, "equal, consistent, differs or undecided."]
    basis: Annotated[
        String | None,
        "recomputed: the assignment was computed again; guarantees: the log does not determine it, and what the assignor "
        "guarantees was checked; null if nothing was.",
    ]
    detail: Annotated[String, "Why."]
    log_partition: LogPartition
    log_offset: Annotated[Int64, "Offset in the log of the record with which the assignment was complete."]
    timestamp: Annotated[Int64, "When that record was written, epoch milliseconds; -1 if it has no time."]


class _Looked(NamedTuple):
    """The audit of an assignment, with the assignor and the recorded assignment that it compared."""

    assignor: str | None
    recorded: Recorded
    audit: Audit


class _Last(NamedTuple):
    """The last assignment of a group that was looked at: kind, generation or epoch, and whether the group is gone since."""

    kind: GroupKind
    number: int
    is_gone: bool = False


class _Targets(NamedTuple):
    """A complete target assignment: by member id, and by instance id for members that come back."""

    by_member: dict[str, frozenset[Partition]]
    by_instance: dict[str, frozenset[Partition]]


_NOTHING: Final = Recorded((), {})
_NO_TARGETS: Final = _Targets({}, {})
_UNIFORM: Final = "uniform"
_RANGE: Final = "range"


class AssignmentAudits:
    """Follows the changes of one log partition and audits each assignment that they complete."""

    def __init__(self, name_of: NameOf, *, proven_from: int = 0, committed: State | None = None) -> None:
        """Start without assignments; `name_of` returns the name of a topic id, `committed` has the live offsets at the log's end.

        Before `proven_from` the log lacks records.
        """
        self._name_of = name_of
        self._proven_from = proven_from
        self._committed = committed or State()
        self._state = State()
        self._targets: dict[str, _Targets] = {}
        self._last: dict[str, _Last] = {}
        self._known = defaultdict[str, set[Partition]](set)
        """By group, partitions that were assigned before."""

    def follow(self, change: Change) -> AssignmentAuditRow | None:
        """Observe a change of a group or member; return the audit of the assignment that it completes, None if of none."""
        subject = change.subject
        if change.is_anomaly or not isinstance(subject, GroupOf | MemberOf):
            return None
        self._state.put(subject, change.after)
        if isinstance(subject, MemberOf):
            return None
        return self._follow_group(
            change, subject.group, change.after if isinstance(change.after, Group) else None
        )

    def _follow_group(self, change: Change, name: str, group: Group | None) -> AssignmentAuditRow | None:
        last, number = self._last.get(name), None
        if group is not None:
            number = group.generation if group.kind is GroupKind.CLASSIC else group.assignment_epoch
        if group is None or number is None or number < 0:
            self._last.update({} if last is None else {name: last._replace(is_gone=True)})
            return None
        if last == (group.kind, number, False):
            return None
        self._last[name] = _Last(group.kind, number)
        looked = self._look(change, group, last)
        if looked is None:
            return None
        self._known[name].update(chain.from_iterable(looked.recorded.assigned.values()))
        return _row(change, group, looked)

    def _look(self, change: Change, group: Group, last: _Last | None) -> _Looked | None:
        if group.kind is GroupKind.CLASSIC:
            looked = self._classic(change, group)
        elif group.kind is GroupKind.CONSUMER:
            looked = self._consumer(change, group)
        elif group.assignment_epoch and self._state.members.get(group.group):
            looked = _Looked(
                None, _NOTHING, _undecided(f"the assignors of {group.kind} groups are not audited")
            )
        else:
            looked = None
        if (
            looked is None
            or last is None
            or last.kind is group.kind
            or last.number > self._last[group.group].number
        ):
            return looked
        why = f"a conversion took it over from the {last.kind} group"
        return looked._replace(audit=_undecided(why)) if _is_first(last, self._last[group.group]) else looked

    def _classic(self, change: Change, group: Group) -> _Looked | None:
        value = classic_value(group)
        if value is None or not value.members:
            return None
        if value.protocol_type != CONSUMER_PROTOCOL:
            why = f"members of protocol type {value.protocol_type} share out other things than partitions"
            return _Looked(value.protocol, _NOTHING, _undecided(why))
        recorded = of_classic(value)
        claims = chain.from_iterable(member.claims for member in recorded.members)
        known = {*claims, *self._partitions_before(change, group.group)}
        return _Looked(value.protocol, recorded, _audit_by_counts(value.protocol or "", recorded, known, {}))

    def _consumer(self, change: Change, group: Group) -> _Looked | None:
        members = self._state.members.get(group.group, {})
        recorded = of_consumer(group, members, self._before(group.group), self._name_of)
        self._targets[group.group] = _targets(members, recorded.assigned)
        if not recorded.members:
            return None
        assignor = _preferred(members)
        if change.log_offset < self._proven_from:
            return _Looked(assignor, recorded, _undecided("the log lacks records of this time"))
        if group.epoch != group.assignment_epoch:
            return _Looked(assignor, recorded, _undecided("the group had changed before it was written"))
        known, counts = self._partitions_before(change, group.group), recorded_counts(group)
        found = _audit_by_counts(assignor or _UNIFORM, recorded, known, counts, is_target=True)
        if assignor is None:
            found = _unsaid(found, _audit_by_counts(_RANGE, recorded, known, counts, is_target=True))
        return _Looked(assignor, recorded, found)

    def _before(self, group: str) -> dict[str, frozenset[Partition]]:
        """Return a group's previous target assignment, by member id; a static member that came back has its predecessor's."""
        targets = self._targets.get(group, _NO_TARGETS)
        members = self._state.members.get(group, {})
        instances = {member_id: client_of(member).instance_id for member_id, member in members.items()}
        found = {member_id: targets.by_instance.get(of or "") for member_id, of in instances.items()}
        return {member_id: own for member_id, own in found.items() if own is not None} | targets.by_member

    def _partitions_before(self, change: Change, group: str) -> set[Partition]:
        """Return partitions that were assigned to the group, or committed by it, before a record."""
        committed = self._committed.offsets.get(group, {})
        partitions = (
            (at.topic, at.partition) for at, it in committed.items() if it.log_offset < change.log_offset
        )
        return {*self._known[group], *partitions}


def _is_first(last: _Last, now: _Last) -> bool:
    """Return whether an assignment was made by the group's conversion from another kind: its number shows that."""
    return now.kind is GroupKind.CLASSIC or now.number == last.number


def _targets(members: Mapping[str, Member], assigned: Assignment) -> _Targets:
    instances = {member_id: client_of(members[member_id]).instance_id for member_id in assigned}
    return _Targets(
        dict(assigned), {of: assigned[member_id] for member_id, of in instances.items() if of is not None}
    )


def _undecided(why: str) -> Audit:
    return Audit(Agreement.UNDECIDED, None, why)


def _preferred(members: Mapping[str, Member]) -> str | None:
    """Return the assignor that most members ask for (ConsumerGroup.preferredServerAssignor); None if none asks for any."""
    data = (getattr(member.metadata, "data", None) for member in members.values())
    asked = Counter(name for each in data if (name := getattr(each, "server_assignor", None)))
    return asked.most_common(1)[0][0] if asked else None


def _audit_by_counts(
    assignor: str,
    recorded: Recorded,
    known: Iterable[Partition],
    counts: Mapping[str, int],
    *,
    is_target: bool = False,
) -> Audit:
    """Return the audit of an assignment; undecided where it holds only if topics have fewer partitions than were known before, or
    where no partition is known at all, because over nothing all assignors agree with everything.
    """
    if recorded.problem:
        return _undecided(recorded.problem)
    partitions = set(chain.from_iterable(recorded.assigned.values()))
    wide, narrow = ({**least_counts(some), **counts} for some in ({*partitions, *known}, partitions))
    given = _asked_for(recorded, wide)
    if not partitions and not given.counts:
        return _undecided("nothing was assigned, and no record names a partition that could have been")
    found = audit(assignor, given, recorded.assigned, is_target=is_target)
    if found.agreement is not Agreement.DIFFERS or wide == narrow:
        return _with_unknown_topics(found, given)
    fewer = audit(assignor, _asked_for(recorded, narrow), recorded.assigned, is_target=is_target)
    if fewer.agreement is Agreement.DIFFERS:
        return found
    topic = min(topic for topic, count in wide.items() if narrow.get(topic) != count)
    return _undecided(
        f"topic {topic} had {wide[topic]} partitions before; it is {fewer.agreement} if there are now {narrow.get(topic, 0)}"
    )


def _with_unknown_topics(found: Audit, given: Subscriptions) -> Audit:
    """Return an audit whose detail names a topic that members ask for and of which no partition is known, if there is one."""
    unknown = {topic for member in given.members for topic in member.topics} - {*given.counts}
    if not unknown or found.agreement not in (Agreement.EQUAL, Agreement.CONSISTENT):
        return found
    also = f" and {len(unknown) - 1} more" if len(unknown) > 1 else ""
    return found._replace(detail=f"{found.detail}; no partition of topic {min(unknown)}{also} is known")


def _asked_for(recorded: Recorded, counts: Mapping[str, int]) -> Subscriptions:
    """Return what an assignor is called with: the members, and partition counts of only the topics that they ask for."""
    given = Subscriptions(recorded.members, counts)
    return given._replace(counts={topic: counts[topic] for topic in given.topics})


def _unsaid(uniform: Audit, ranges: Audit) -> Audit:
    """Return the audit of a broker's own choice of assignor: `uniform` by default, and it may be configured to be `range`."""
    if uniform.agreement is not Agreement.DIFFERS or ranges.agreement is Agreement.DIFFERS:
        return uniform._replace(detail=f"taken for uniform, the default of brokers: {uniform.detail}")
    return ranges._replace(detail=f"taken for range, which brokers may be told to use: {ranges.detail}")


def _row(change: Change, group: Group, looked: _Looked) -> AssignmentAuditRow:
    is_classic = group.kind is GroupKind.CLASSIC
    return AssignmentAuditRow(
        group=group.group,
        group_kind=group.kind,
        generation=group.generation if is_classic else None,
        assignment_epoch=None if is_classic else group.assignment_epoch,
        assignor=looked.assignor,
        members=len(looked.recorded.members) or group.members,
        partitions=sum(map(len, looked.recorded.assigned.values())),
        agreement=looked.audit.agreement,
        basis=looked.audit.basis,
        detail=looked.audit.detail,
        log_partition=change.log_partition,
        log_offset=change.log_offset,
        timestamp=change.timestamp,
    )
