"""Who owned which partitions before and after a step of a group, and which had no owner in between, from the members' rows.

A member still owns what it has to give up. The last owner of a partition counts as its owner until that member goes.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain, groupby
from typing import Final, NamedTuple

from offsets_tool.history.rows import MemberEndCause, MemberHistoryRow
from offsets_tool.rebalances.histories import GroupHistories
from offsets_tool.rebalances.steps import GroupStep
from offsets_tool.rows import NO_TIMESTAMP

EAGER: Final = ("range", "roundrobin", "sticky", "default")
"""Protocols whose members give all up before each rebalance; of others nobody knows it."""
COOPERATIVE: Final = ("cooperative-sticky", "stream")
"""Protocols whose members keep what they have, unless another protocol that they all know is eager (KIP-429)."""
MemberRows = Mapping[str, MemberHistoryRow]
"""The state of each member by its id."""


def topic_of(partition: str) -> str:
    """Return the topic of a partition, written `topic-partition` as in histories, or the subtopology of `subtopology_partition`."""
    return partition.rstrip("0123456789")[:-1]


class StepHoldings(NamedTuple):
    """The members of a group before and after a step, and the partitions that they owned, as texts of the histories."""

    before: MemberRows
    after: MemberRows
    had: Mapping[str, str]
    """By partition, the member that had it last, of those that were there before; a replaced one by its replacement."""
    has: Mapping[str, str]
    """By partition, the member that holds it after the step."""
    held: frozenset[str]
    """The partitions that a member held before."""
    known: frozenset[str]
    """The partitions that any member ever held before."""
    unheld: frozenset[str]
    """The partitions that nobody held after some record of the step, though somebody had."""
    revoking: tuple[MemberHistoryRow, ...] = ()
    """States of members that had partitions to give up, before the step or in it."""


class _Event(NamedTuple):
    """The beginning or the end of a member's row."""

    log_offset: int
    is_begin: bool
    at: int
    row: MemberHistoryRow


class HoldingSweep:
    """Goes through a group's members once, from step to step."""

    def __init__(self, rows: GroupHistories) -> None:
        """Begin before the group's first record."""
        self._events = sorted(_events(rows.members), key=lambda event: event[:2])
        self._next = 0
        self._members: dict[str, MemberHistoryRow] = {}
        self._last: dict[str, str] = {}
        self._holders: Counter[str] = Counter()
        self._heirs = dict(_heirs(rows))

    def over(self, step: GroupStep) -> StepHoldings:
        """Return who owned which partitions before and after a step; call this for all steps in the order of the log."""
        self._run(self._until(step.first - 1, NO_TIMESTAMP if step.at < 0 else step.at))
        before, known = dict(self._members), frozenset(self._last)
        held = frozenset(each for each in self._last if self._holders[each])
        events = list(self._until(step.last, NO_TIMESTAMP))
        had = {each: member for each, member in self._last.items() if member in before}
        unheld = frozenset(self._unheld(events))
        heirs = self._heirs_in(events)
        return StepHoldings(
            before,
            dict(self._members),
            {each: heirs.get(member, member) for each, member in had.items()},
            {each: self._last[each] for each, holders in self._holders.items() if holders},
            held,
            known,
            unheld,
            tuple(row for row in (*before.values(), *_begun(events)) if row.pending_revocation),
        )

    def _until(self, last: int, not_at: int) -> Iterator[_Event]:
        """Yield the events up to the log offset `last`; stop before an event at the time `not_at`, which belongs to the step."""
        while self._next < len(self._events):
            event = self._events[self._next]
            if event.log_offset > last or event.at == not_at != NO_TIMESTAMP:
                return
            self._next += 1
            yield event

    def _run(self, events: Iterable[_Event]) -> set[str]:
        """Observe events; return the partitions that members gave up in them."""
        given_up: set[str] = set()
        for event in events:
            row = event.row
            parts = row.held
            if event.is_begin:
                self._members[row.member_id] = row
                self._last.update(dict.fromkeys(parts, row.member_id))
                self._holders.update(parts)
            else:
                self._members.pop(row.member_id, None)
                self._holders.subtract(parts)
                given_up.update(parts)
                self._pass_on(row)
        return given_up

    def _unheld(self, events: list[_Event]) -> Iterator[str]:
        """Observe the events of a step; yield the partitions that have no owner after events that were written together."""
        for _, written in groupby(events, key=lambda event: event.log_offset if event.at < 0 else event.at):
            yield from (each for each in self._run(written) if not self._holders[each])

    def _pass_on(self, row: MemberHistoryRow) -> None:
        heir = self._heirs.get((row.member_id, row.to_log_offset or 0))
        if heir is not None:
            self._last = {
                each: heir if member == row.member_id else member for each, member in self._last.items()
            }

    def _heirs_in(self, events: Iterable[_Event]) -> dict[str, str]:
        keys = ((event.row.member_id, event.log_offset) for event in events if not event.is_begin)
        return {key[0]: self._heirs[key] for key in keys if key in self._heirs}


def _begun(events: Iterable[_Event]) -> Iterator[MemberHistoryRow]:
    return (event.row for event in events if event.is_begin)


def _events(members: Iterable[MemberHistoryRow]) -> Iterator[_Event]:
    for row in members:
        yield _Event(row.from_log_offset, True, row.from_timestamp, row)
        if row.to_log_offset is not None:
            at = NO_TIMESTAMP if row.to_timestamp is None else row.to_timestamp
            yield _Event(row.to_log_offset, False, at, row)


def _heirs(rows: GroupHistories) -> Iterator[tuple[tuple[str, int], str]]:
    """Yield, for each static member that was replaced, its id and where it ended, and the member that replaced it."""
    by_instance: dict[str, list[MemberHistoryRow]] = defaultdict(list)
    for row in rows.members:
        if row.instance_id is not None:
            by_instance[row.instance_id].append(row)
    for row in chain.from_iterable(by_instance.values()):
        if row.end_cause == MemberEndCause.REPLACED and row.to_log_offset is not None:
            heir = next((each for each in by_instance[row.instance_id or ""] if _follows(each, row)), None)
            if heir is not None:
                yield (row.member_id, row.to_log_offset), heir.member_id


def _follows(row: MemberHistoryRow, gone: MemberHistoryRow) -> bool:
    return row.member_id != gone.member_id and row.from_log_offset >= (gone.to_log_offset or 0)
