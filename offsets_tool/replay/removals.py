"""Which offsets went at once: tombstones of one group in one batch (before magic 2: in a run), and what the group was then.

Folds the Changes of one log partition in the order of the log, in memory that grows with what lives; decides nothing about causes
(deletions.py).
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final, NamedTuple
from uuid import UUID

from offsets_tool.events import Event
from offsets_tool.replay.changes import (
    Change,
    ChangeKind,
    CommittedOffset,
    Group,
    GroupOf,
    Member,
    MemberOf,
    OffsetOf,
    PendingCommit,
    PendingOf,
    TopicPartition,
)
from offsets_tool.replay.expiry import Expiry, Policy, Rule, expiry_of, is_subscribed
from offsets_tool.replay.losses import Alive, Ended, Gone, Removal, may_be_one
from offsets_tool.replay.state import State

_OFFSETS: Final = (0, 1)
_GROUPS: Final = (2, 3, 17)
_UNSEEN: Final = CommittedOffset(-1, -1, "", 0, -1, None, -1)
RUN_MS: Final = 1_000
"""How far tombstones of a run may stand apart where every record is a batch of its own."""


class _Lived(NamedTuple):
    began_at: int | None
    committed_at: int | None
    topic_id: UUID | None = None
    doubtful: bool = False
    """Whether only a coordinator that loaded this log has it, and not the one that wrote it."""


@dataclass(slots=True)
class _Open:
    """A removal that may go on; group and members as they were when it began."""

    at: int | None
    group: Group | None
    members: Mapping[str, Member]
    changed_at: int | None
    is_new: bool
    gone: list[Gone] = field(default_factory=list)
    group_gone_at: int | None = None
    _reads: dict[str, bool | None] = field(default_factory=dict)

    def reads(self, topic: str) -> bool | None:
        """Whether a member reads the topic; None where the coordinator cannot tell."""
        if topic not in self._reads:
            self._reads[topic] = is_subscribed(self.group, self.members, topic) if self.group else None
        return self._reads[topic]


class Removals:
    """Folds one log partition."""

    def __init__(self, log_partition: int | None, policy: Policy) -> None:
        self._log_partition = log_partition
        self._policy = policy
        self._is_new = False
        self._state = State()
        self._lives: dict[OffsetOf, _Lived] = {}
        self._doubted: tuple[OffsetOf, int] | None = None
        self._changed: dict[str, int] = {}
        self._open: dict[str, _Open] = {}
        self._place = (-1, -1, -1)
        """Batch, log offset and timestamp of the last change of what is open."""

    def take(self, change: Change, *, is_new: bool) -> list[Removal | Ended]:
        """What is complete now that this change came. `is_new`: whether the new coordinator wrote it, if it is a tombstone."""
        self._is_new = is_new
        done: list[Removal | Ended] = list(self._close()) if self._open and not self._belongs(change) else []
        if change.kind is ChangeKind.ANOMALY:
            # About what the same record is going to put there.
            if isinstance(change.subject, OffsetOf):
                self._doubted = (change.subject, change.log_offset)
            return done
        ended = self._see(change)
        if not _is_bare(change):
            self._state.put(change.subject, change.after)
        if self._open:
            self._place = (change.batch_offset, change.log_offset, change.timestamp)
        return done if ended is None else [*done, ended]

    def finish(self) -> list[Removal]:
        """What was still open at the end."""
        return list(self._close())

    def alive(self) -> Iterator[Alive]:
        """Of every topic that has offsets now, the longest life."""
        first: dict[tuple[str, UUID | None], int] = {}
        for offset, lived in self._lives.items():
            if lived.began_at is not None and not lived.doubtful:
                topic = offset.topic, lived.topic_id
                first[topic] = min(lived.began_at, first.get(topic, lived.began_at))
        yield from (Alive(*topic, began_at) for topic, began_at in first.items())

    def _belongs(self, change: Change) -> bool:
        batch, last, at = self._place
        if change.batch_offset == batch:
            return True
        alone = batch == last and change.batch_offset == change.log_offset == last + 1
        return alone and change.kind is ChangeKind.DELETED and abs(change.timestamp - at) <= RUN_MS

    def _see(self, change: Change) -> Ended | None:
        match change.subject:
            case OffsetOf() as offset:
                self._see_offset(change, offset)
            case PendingOf() as pending:
                return self._see_pending(change, pending)
            case GroupOf(group):
                self._see_group(change, group)
            case MemberOf(group):
                self._mark(change, group)
        return None

    def _see_offset(self, change: Change, offset: OffsetOf) -> None:
        before, after = change.before, change.after
        if isinstance(after, CommittedOffset):
            self._live(change, offset, after)
        elif change.kind is ChangeKind.DELETED and (before is None or isinstance(before, CommittedOffset)):
            opened, at = self._opened(change, offset.group), TopicPartition(offset.topic, offset.partition)
            expiry = self._expiry(opened, offset.group, at, before)
            lived = self._lives.pop(offset, _Lived(None, None))
            gone = Gone(*at, before, change.log_offset, expiry, lived.began_at, lived.committed_at)
            opened.gone.append(gone)

    def _live(self, change: Change, offset: OffsetOf, after: CommittedOffset) -> None:
        at = _time(change.timestamp)
        at = _time(after.commit_timestamp) if at is None else at
        known = self._lives.get(offset)
        began_at, topic_id = at, after.topic_id
        if known is not None and not known.doubtful and may_be_one(known.topic_id, topic_id):
            began_at, topic_id = known.began_at, topic_id or known.topic_id
        doubtful = self._doubted == (offset, change.log_offset)
        self._lives[offset] = _Lived(began_at, at, topic_id, doubtful)

    def _see_pending(self, change: Change, pending: PendingOf) -> Ended | None:
        before = change.before
        if change.after is not None or not isinstance(before, PendingCommit):
            return None
        where, at = (pending.topic, pending.partition), change.log_offset
        if change.kind is ChangeKind.DELETED:
            gone = Gone(*where, before.commit, at, None, None, None, pending.producer_id)
            self._opened(change, pending.group).gone.append(gone)
            return None
        self._mark(change, pending.group)
        if change.kind is ChangeKind.COMMITTED:
            return None
        return Ended(self._log_partition, at, _time(change.timestamp), change.kind, pending, before.commit)

    def _see_group(self, change: Change, group: str) -> None:
        opened = self._open.get(group)
        if opened is None or change.after is not None:
            if not _is_bare(change):
                self._mark(change, group)
        elif all(each.log_offset != change.log_offset for each in opened.gone):
            # Else it is the classic coordinator's simple group, that goes with its last offset's tombstone.
            opened.group_gone_at = change.log_offset

    def _mark(self, change: Change, group: str) -> None:
        at = _time(change.timestamp)
        if at is not None:
            self._changed[group] = at

    def _opened(self, change: Change, group: str) -> _Open:
        if group not in self._open:
            self._open[group] = _Open(
                _time(change.timestamp),
                self._state.groups.get(group),
                dict(self._state.members.get(group, {})),
                self._changed.get(group),
                self._is_new,
            )
        return self._open[group]

    def _expiry(
        self, opened: _Open, group: str, at: TopicPartition, commit: CommittedOffset | None
    ) -> Expiry | None:
        offset = OffsetOf(group, *at)
        pending = opened.is_new and any(offset in commits for commits in self._state.pending.values())
        reads = opened.reads(at.topic)
        found = expiry_of(commit or _UNSEEN, opened.group, reads, pending, self._policy)
        # Without the commit only a rule that does not ask for it tells.
        tells = commit is not None or found.rule is Rule.RETENTION_SINCE_EMPTY
        keeps = found.at is None and opened.group is not None
        return found if tells or keeps else None

    def _close(self) -> Iterator[Removal]:
        for group, opened in self._open.items():
            left = [
                (at, commit)
                for at, commit in self._state.offsets.get(group, {}).items()
                if not self._lives.get(OffsetOf(group, *at), _Lived(None, None)).doubtful
            ]
            expiries = [self._expiry(opened, group, at, commit) for at, commit in left]
            topics = {gone.topic for gone in opened.gone}
            yield Removal(
                self._log_partition,
                opened.at,
                group,
                opened.group,
                opened.is_new,
                tuple(opened.gone),
                opened.group_gone_at,
                len(left),
                _left_topics(opened.gone, left),
                frozenset(topic for topic in topics if opened.reads(topic)),
                min((each.at for each in expiries if each and each.at is not None), default=None),
                min(
                    (base for each in expiries if each and (base := each.base_timestamp) is not None),
                    default=None,
                ),
                opened.changed_at,
            )
        self._open.clear()


def _left_topics(
    gone: Iterable[Gone], left: Iterable[tuple[TopicPartition, CommittedOffset]]
) -> frozenset[str]:
    """Of the topics that something went of, those that are left; one that was made again under the name has another id."""
    went: dict[str, set[UUID | None]] = {}
    for each in gone:
        went.setdefault(each.topic, set()).add(each.commit.topic_id if each.commit else None)
    return frozenset(
        at.topic
        for at, commit in left
        if any(may_be_one(topic_id, commit.topic_id) for topic_id in went.get(at.topic, ()))
    )


def bare_tombstone(event: Event, changes: Iterable[Change]) -> Iterator[Change]:
    """A tombstone of an offset or a group that changed nothing, as a Change to `take`: compaction had taken what it is for."""
    if event.key is None or event.value is not None or event.kept_raw is not None:
        return
    subject = _subject(event)
    told = (OffsetOf, PendingOf) if isinstance(subject, OffsetOf) else (GroupOf,)
    if subject is None or any(isinstance(change.subject, told) for change in changes):
        return
    record = event.record
    batch = record.log_offset if record.batch is None else record.batch.base_offset
    yield Change(
        record.log_partition, record.log_offset, record.timestamp, batch, ChangeKind.DELETED, subject
    )


def _subject(event: Event) -> OffsetOf | GroupOf | None:
    """The offset, or the group by its own record, that an event is about."""
    if event.type_id in _OFFSETS and event.key is not None:
        key = event.key.data
        return OffsetOf(key.group, key.topic, key.partition)
    return GroupOf(event.group) if event.type_id in _GROUPS and event.group is not None else None


def _is_bare(change: Change) -> bool:
    return change.before is None and change.after is None


def _time(timestamp: int) -> int | None:
    return None if timestamp < 0 else timestamp
