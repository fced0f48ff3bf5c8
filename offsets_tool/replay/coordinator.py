"""The coordinator of one log partition: `replay` takes an event, returns its changes, and updates the state.

Every sequence of events replays: what Kafka's code would refuse becomes a Change of kind `anomaly`, and replay goes on. What each
record type does is in the modules of its family; this one has their table, and decides when the classic rules end.
Source: GroupMetadataManager (to 3.9), GroupCoordinatorShard (4.x).
"""

from collections.abc import Mapping
from typing import Final

from offsets_tool.events import Event, Key
from offsets_tool.records.kinds import CLASSIC_TYPES, RECORD_TYPES, Family, RecordType, Role
from offsets_tool.replay import classic, consumer, offsets, share, streams
from offsets_tool.replay.changes import UNREAD, Change, GroupKind, GroupOf, LogOf, MemberOf
from offsets_tool.replay.epoch_groups import lose_part, update_group
from offsets_tool.replay.handling import Handling
from offsets_tool.replay.rules import Rules, RulesUsed, proves_new
from offsets_tool.replay.state import GroupPart, State
from offsets_tool.replay.step import Step

_PASSED_OVER: Final = "a record of the new coordinator, which the classic one passes over"

_FAMILIES: Final[Mapping[Family, Mapping[Role, Handling]]] = {
    Family.OFFSETS: offsets.REPLAYS,
    Family.CLASSIC: classic.REPLAYS,
    Family.CONSUMER: consumer.REPLAYS,
    Family.SHARE: share.REPLAYS,
    Family.STREAMS: streams.REPLAYS,
}


def _handling_of(type_: RecordType) -> Handling:
    """Return how records of a type are replayed; TypeError, when this module is imported, for a type that nothing replays."""
    found = _FAMILIES.get(type_.family, {}).get(type_.role)
    if found is None:
        raise TypeError(
            f"record type {type_.id} ({type_.name}) has no replay: give its role, {type_.role}, one in the module of {type_.family}"
        )
    return found


REPLAYS: Final[Mapping[int, Handling]] = {each.id: _handling_of(each) for each in RECORD_TYPES.values()}
"""How records are replayed, by record type."""


class Coordinator:
    """The coordinator of one partition of `__consumer_offsets`: replays events in their order and holds the state they make.

    `rules` None chooses by the log: the classic rules hold until a record proves the new coordinator (`proved_at`). `differed_at`
    is the first offset where the rules would have differed while the classic ones were only assumed: a reader who learns that the
    new ones hold replays the partition again.

    >>> from offsets_tool import open_evidence
    >>> coordinator = Coordinator(3)
    >>> with open_evidence("fixtures/corpora/3.9.2-txn/segments", log_partition=3) as evidence:
    ...     for event in evidence.events():
    ...         print(*(f"{change.kind} {type(change.subject).__name__}" for change in coordinator.replay(event)), sep=", ")
    set GroupOf, set OffsetOf
    set TransactionOf, set PendingOf
    set TransactionOf, set PendingOf
    set OffsetOf
    >>> list(coordinator.state.groups)
    ['pricing-hang-43']
    """

    def __init__(
        self, log_partition: int | None, rules: Rules | None = None, state: State | None = None
    ) -> None:
        """Start with an empty state, or with the `state` of a checkpoint."""
        self.log_partition = log_partition
        self.state = state or State()
        self.rules = rules or Rules.CLASSIC
        self.proved_at: int | None = None
        self.differed_at: int | None = None
        self.auto = rules is None

    def replay(self, event: Event) -> tuple[Change, ...]:
        """Replay an event and return its changes; give the events of one partition in the order of their offsets."""
        if self.auto and self.proved_at is None and proves_new(event):
            self.rules, self.proved_at = Rules.NEW, event.record.log_offset
        step = Step(self.state, self.rules, self.log_partition, event)
        if event.control is not None:
            offsets.replay_marker(step, event.control)
        elif event.is_absence:
            self._replay_absence(step, event)
        elif event.key is not None and (step.is_new or event.key.type.id in CLASSIC_TYPES):
            offsets.replay_transaction(step, event)
            self._replay_record(step, event.key, event)
        elif event.key is not None:
            offsets.replay_transaction(step, event)
            step.anomaly(GroupOf(event.key.data.group_id), _PASSED_OVER)
        elif not event.record.is_control:
            self.state.unread.log = event.record.log_offset
            step.anomaly(LogOf(self.log_partition), f"{UNREAD}{event.problem}")
        self.observe_difference(step)
        return tuple(step.changes)

    def observe_difference(self, step: Step) -> None:
        """Observe whether the rules of the other coordinator would have done something else, while none is proved."""
        if step.differs and self.differed_at is None and self.proved_at is None:
            self.differed_at = step.record.log_offset

    def _replay_record(self, step: Step, key: Key, event: Event) -> None:
        """Replay a record whose key reads; where its value does not, what the key is about is unknown from here on."""
        handling, note = REPLAYS[key.type.id], f"{UNREAD}{event.problem}"
        if key.type.family is Family.OFFSETS:
            if event.kept_raw is None:
                handling.replay(step, key.data, event)
            else:
                step.anomaly(offsets.replay_unread(step, key.data, event), note)
            return
        group, part = event.group or "", _part(key)
        if event.kept_raw is not None:
            lose_part(step, GroupKind(key.type.family.value), group, part)
            step.anomaly(GroupOf(group) if part[0] is None else MemberOf(group, part[0]), note)
            return
        is_known_again = self.state.unread.take_part(group, part)
        handling.replay(step, key.data, event)
        known = self.state.groups.get(group)
        if is_known_again and known is not None and handling.value is not None:
            update_group(step, handling.value, known)

    def _replay_absence(self, step: Step, event: Event) -> None:
        """Remove the value of the absent key; nothing, if its group has become one of another kind since."""
        if event.key is None:
            return
        group = event.group or ""
        family, known = event.key.type.family, self.state.groups.get(group)
        if family is Family.OFFSETS:
            offsets.replay_absence(step, event)
        elif known is not None and known.kind.value == family.value:
            REPLAYS[event.key.type.id].replay(step, event.key.data, event)
            # What is left of the group may look impossible until its last key is known to be gone too.
            step.changes[:] = [change for change in step.changes if not change.is_anomaly]
        offsets.remove_unused_group(step, group)

    @property
    def rules_used(self) -> RulesUsed:
        """The rules by which events were replayed so far, and where they were proved or would have differed."""
        return RulesUsed(self.rules, self.proved_at, self.differed_at)


def _part(key: Key) -> GroupPart:
    """Return which part of its group a record of a group is about."""
    member_id, expression = getattr(key.data, "member_id", None), getattr(key.data, "regular_expression", "")
    return member_id, f"{key.type.id} {expression}".rstrip()
