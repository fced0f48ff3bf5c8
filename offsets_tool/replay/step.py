"""The replay of one event: its record, the state that it meets, the changes that it makes. Knows no record type."""

from offsets_tool.events import Event
from offsets_tool.replay.changes import (
    Change,
    ChangeKind,
    GroupOf,
    OffsetOf,
    PendingOf,
    Subject,
    Subjected,
)
from offsets_tool.replay.rules import Rules
from offsets_tool.replay.state import State


class Step:
    """The changes of one event, collected while it is replayed.

    `differs` tells that the rules of the other coordinator would have done something else.
    """

    def __init__(self, state: State, rules: Rules, log_partition: int | None, event: Event) -> None:
        self.state = state
        self.rules = rules
        self.record = event.record
        self._deleted = ChangeKind.ABSENT if event.is_absence else ChangeKind.DELETED
        self.changes: list[Change] = []
        self.differs = False
        self._log_partition = log_partition

    @property
    def is_new(self) -> bool:
        """Whether the event is replayed by the new coordinator's rules."""
        return self.rules is Rules.NEW

    def set(
        self,
        subject: Subject,
        after: Subjected | None,
        kind: ChangeKind = ChangeKind.SET,
        note: str | None = None,
    ) -> None:
        """Set the value of a subject to `after` and collect the change; do nothing if it had no value and gets none."""
        if self.state.unread and (after is None or not isinstance(subject, GroupOf)):
            self.state.unread.take(subject)
        before = self.state.get(subject)
        if before is None and after is None:
            return
        self.state.put(subject, after)
        self._add(kind, subject, before, after, note)
        self._add_visibility(subject, before, after)

    def _add_visibility(self, subject: Subject, before: Subjected | None, after: Subjected | None) -> None:
        """Collect which offsets are hidden or revealed, as a group is deleted or created."""
        if isinstance(subject, GroupOf) and (before is None or after is None):
            kind = ChangeKind.HIDDEN if after is None else ChangeKind.REVEALED
            for at, commit in sorted(self.state.offsets.get(subject.group, {}).items()):
                self._add(kind, OffsetOf(subject.group, *at), commit, commit, None)
        elif isinstance(subject, OffsetOf) and after is not None and not self.state.answers(subject.group):
            self._add(ChangeKind.HIDDEN, subject, after, after, None)

    def delete(self, subject: Subject) -> None:
        """Remove the subject's value: a tombstone says so, or an absence proves it."""
        self.set(subject, None, self._deleted)

    def anomaly(self, subject: Subject, note: str) -> None:
        """Collect an anomaly of the subject: `note` says what Kafka's code rules out."""
        value = self.state.get(subject)
        self._add(ChangeKind.ANOMALY, subject, value, value, note)

    def lose(self, subject: OffsetOf | PendingOf, log_offset: int) -> None:
        """Forget the value of a subject whose record at `log_offset` was not understood: it has another one, or that again."""
        before = self.state.get(subject)
        if before is not None:
            self.state.put(subject, None)
            self._add(ChangeKind.UNREAD, subject, before, None, None)
        self.state.unread.add(subject, log_offset)

    def _add(
        self,
        kind: ChangeKind,
        subject: Subject,
        before: Subjected | None,
        after: Subjected | None,
        note: str | None,
    ) -> None:
        record = self.record
        batch = record.log_offset if record.batch is None else record.batch.base_offset
        self.changes.append(
            Change(
                self._log_partition,
                record.log_offset,
                record.timestamp,
                batch,
                kind,
                subject,
                before,
                after,
                note,
            )
        )
