"""A log replayed to a moment: each partition's coordinator, what the log still proves, and the names of topics.

Takes events, partition by partition in the order of their offsets, and does not know where they come from. The rules are first
assumed and then proved: `to_replay_again` names the partitions whose events it needs once more.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence

from offsets_tool.as_of.as_of import AsOf, Cut
from offsets_tool.as_of.coverage import Contradiction, Coverage
from offsets_tool.events import Event
from offsets_tool.log_clock import latest_of
from offsets_tool.records.kinds import COMMITS
from offsets_tool.replay.changes import Change, CommittedOffset, Group, GroupKind, GroupOf, MemberOf, OffsetOf
from offsets_tool.replay.coordinator import Coordinator
from offsets_tool.replay.rules import Rules, proves_classic, proves_new, to_replay_again
from offsets_tool.replay.state import State
from offsets_tool.replay.topic_names import TopicNames

Unproven = dict[OffsetOf | GroupOf | MemberOf, int | None]
"""Subjects whose value is not proven, with the offset from which on the log proves it again; None where it does not."""


class PartitionSnapshot:
    """One partition of the log up to a moment."""

    def __init__(
        self, log_partition: int | None, as_of: AsOf, rules: Rules | None, begins: int, end: int | None = None
    ) -> None:
        """Start without records; `end` is the moment's end offset in this partition, where the records cannot show it."""
        self.log_partition = log_partition
        self.begins = begins
        """Base offset of the first segment in the evidence; earlier records are not."""
        self.coordinator = Coordinator(log_partition, rules)
        self.cut = as_of.cut(log_partition) if end is None else Cut(as_of.time, end)
        self.coverage = Coverage(self.cut.end, keys=not as_of.is_end)
        self.proved_classic = False
        """Whether the classic coordinator wrote a record up to the moment."""
        self.proved_later = False
        """Whether the new coordinator wrote a record behind the moment."""
        self.is_damaged = False
        """Whether the reader met misplaced records or unreadable bytes, which are not replayed."""
        self.is_cut_off = False
        """Whether a file that is, or may be, of this partition ends in the middle of a batch or a line."""
        self.ambiguous_commits = 0
        """Number of commits, from archives, that do not say whether they are in a transaction; they are effective at once."""
        self.first_anomaly: Change | None = None
        """The first change that Kafka's code rules out; a record that was not understood is none."""
        self.unread_records = 0
        """Number of records up to the moment that were not understood."""
        self.first_unread: Change | None = None
        """The first of them."""
        self.absent_to = 0
        """The offset right behind the last absence that counts (rows.Absence)."""
        self.kept: Callable[[], State] | None = None
        """Returns the state where it is kept, so that nothing is replayed: it is asked for with the first question."""

    @property
    def state(self) -> State:
        """The coordinator's state."""
        if self.kept is not None:
            self.coordinator.state, self.kept = self.kept(), None
        return self.coordinator.state

    @property
    def end(self) -> int:
        """The first offset that does not count, as far as the log goes."""
        return self.coverage.next_offset

    @property
    def read_to(self) -> int:
        """The first offset behind all that counts: behind the last record there may be absences."""
        return max(self.end, self.absent_to)

    @property
    def unknown(self) -> Unproven:
        """Subjects that may have another value than the state has, or one at all: a record is missing, or was not understood.

        With each the offset from which on the log proves it again; None where no such record is there.
        """
        unread = self.state.unread
        found: Unproven = {}
        if unread.log is not None:
            found |= dict.fromkeys(self._older(unread.log))
        for group, offsets in unread.offsets.items():
            found |= dict.fromkeys(OffsetOf(group, *at) for at in offsets)
        found |= dict.fromkeys(self._resting_on_unread())
        for group, parts in unread.groups.items():
            found[GroupOf(group)] = None
            found |= dict.fromkeys(
                MemberOf(group, member_id) for member_id, _ in parts if member_id is not None
            )
        for subject, again_from in self.coverage.unknown.items():
            found[subject] = again_from
        return found

    def _resting_on_unread(self) -> Iterator[GroupOf]:
        """Yield the groups without a record of their own that have no commit that was understood."""
        state = self.state
        for name in state.unread.groups_concerned():
            group = state.groups.get(name)
            if group is None or group.kind is not GroupKind.SIMPLE or name in state.offsets:
                continue
            if not any(True for _ in state.pending_for(name)):
                yield GroupOf(name)

    def _older(self, log_offset: int) -> Iterator[OffsetOf | GroupOf]:
        """Yield what the state has from records before this offset."""
        for subject, value in self.state.subjects():
            if isinstance(value, CommittedOffset | Group) and isinstance(subject, OffsetOf | GroupOf):
                of_group = self.state.offsets.get(subject.group, {}) if isinstance(value, Group) else {}
                if max([value.log_offset, *(commit.log_offset for commit in of_group.values())]) < log_offset:
                    yield subject

    def replay(self, event: Event) -> tuple[Change, ...] | None:
        """Replay an event and return its changes; return None if it lies behind the moment."""
        if not self.cut.holds(event):
            assert self.cut.end is not None
            self.coverage.observe_later(event, self.cut.end)
            self.proved_later = self.proved_later or proves_new(event)
            return None
        self.proved_classic = self.proved_classic or proves_classic(event)
        self.ambiguous_commits += _is_ambiguous_commit(event)
        if event.is_absence:
            self.absent_to = event.record.log_offset + 1
        else:
            self.coverage.observe(event)
        changes = self.coordinator.replay(event)
        self.observe_changes(changes)
        return changes

    def replayed(
        self, events: Iterable[Event], learn: Callable[[Event], None]
    ) -> Iterator[tuple[Event, tuple[Change, ...]]]:
        """Replay events, which `learn` is given first; yield those that count, with their changes."""
        for event in events:
            learn(event)
            changes = self.replay(event)
            if changes is not None:
                yield event, changes

    def observe_changes(self, changes: Iterable[Change]) -> None:
        """Keep the first anomaly among the changes, which may come in any order, and count what was not understood."""
        for change in changes:
            if change.is_unread:
                self.unread_records += 1
                self.first_unread = _earlier(self.first_unread, change)
            elif change.is_anomaly:
                self.first_anomaly = _earlier(self.first_anomaly, change)


def _earlier(first: Change | None, change: Change) -> Change:
    return change if first is None or change.log_offset < first.log_offset else first


def _is_ambiguous_commit(event: Event) -> bool:
    record = event.record
    if record.batch is not None or record.is_transactional is not None or record.producer_id is not None:
        return False
    return event.type_id in COMMITS and event.value is not None


class Snapshot:
    """All partitions of the evidence, replayed to one moment."""

    def __init__(self, as_of: AsOf, names: TopicNames, rules: Rules | None = None) -> None:
        """Start without partitions; `rules` None chooses by what the logs prove."""
        self.as_of = as_of
        self.names = names
        self.rules = rules
        self._partitions: dict[int | None, PartitionSnapshot] = {}

    def __iter__(self) -> Iterator[PartitionSnapshot]:
        """Iterate over the partitions in the order of their numbers."""
        return iter(
            sorted(
                self._partitions.values(), key=lambda p: -1 if p.log_partition is None else p.log_partition
            )
        )

    @property
    def newest_timestamp(self) -> int | None:
        """Timestamp of the newest record up to the moment, in epoch milliseconds; None without one."""
        return latest_of(p.cut.newest_timestamp for p in self)

    @property
    def is_after_records(self) -> bool:
        """Whether the moment is a time after the newest record of all, so that nothing is known of what came between."""
        time, newest = self.as_of.time, self.newest_timestamp
        return (
            time is not None and newest is not None and time > newest and all(p.cut.end is None for p in self)
        )

    def begin(self, log_partition: int | None, begins: int = 0, end: int | None = None) -> PartitionSnapshot:
        """Return a partition before its first event; a second call replaces the first, by the rules of the new coordinator."""
        rules = Rules.NEW if log_partition in self._partitions else self.rules
        moment = self._partitions[log_partition] = PartitionSnapshot(
            log_partition, self.as_of, rules, begins, end
        )
        return moment

    def contradicted(self, log_partition: int | None, contradiction: Contradiction | None) -> None:
        """Note of a partition that was replayed that its copies are of several histories."""
        self._partitions[log_partition].coverage.contradiction = contradiction

    def to_replay_again(self) -> list[int | None]:
        """Return the partitions replayed by rules that were later proved wrong (replay.rules.to_replay_again).

        A record behind the moment that proves the new coordinator counts if nothing up to the moment proves the classic one.
        """
        if self.rules is not None:
            return []
        is_new = any(p.proved_later for p in self) and not any(p.proved_classic for p in self)
        return to_replay_again({p.log_partition: p.coordinator.rules_used for p in self}, is_new=is_new)


def replay_events(
    snapshots: Sequence[Snapshot],
    log_partition: int | None,
    events: Iterable[Event],
    *,
    begins: int = 0,
    end: int | None = None,
) -> None:
    """Replay one partition to each of the moments in one pass over all its events, in the order of their offsets.

    A second call replaces the first. `begins` is the base offset of the first segment, `end` the end offset that the moment
    means here, where the records themselves cannot tell.
    """
    partitions = [
        (snapshot.begin(log_partition, begins, end), snapshot.names.learn) for snapshot in snapshots
    ]
    for event in events:
        for partition, learn in partitions:
            learn(event)
            partition.replay(event)
