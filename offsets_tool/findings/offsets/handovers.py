"""Does a commit belong to a rebalance: is it the owner's first after one gave it the partition, or its last before it gave it up?

Answers from who held what (members' rows), from the generations of a classic group, and from a broker's own log. Finds nothing.
"""

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import Final, NamedTuple

from offsets_tool.findings.group_rows import GroupRows
from offsets_tool.findings.sentences import SAID, named
from offsets_tool.history.rows import GroupHistoryRow, MemberHistoryRow, OffsetHistoryRow
from offsets_tool.replay.changes import GroupKind, TopicPartition
from offsets_tool.server_log.join import ServerLog
from offsets_tool.server_log.server_line import LineKind, ServerLine
from offsets_tool.wire.longs import difference

HANDOVER: Final = (
    "Look at what its clients do as partitions are assigned and given up: a rebalance listener that seeks or commits, positions or "
    "offsets that are kept from before, auto.offset.reset."
)
"""What to do about a commit that belongs to a rebalance."""
SOON_MS: Final = 300_000
"""How soon after a commit its partition must change hands if the commit is one of giving it up: within max.poll.interval.ms."""


class HeldSpan(NamedTuple):
    """A member, by its instance or member id, that held a partition from one record of the log to another (None: to its end)."""

    member_id: str
    identity: str
    from_offset: int
    from_at: int
    to_offset: int | None


class Begin(NamedTuple):
    """The record that gave a member a partition, and its time in epoch milliseconds."""

    log_offset: int
    at: int


class Handover(NamedTuple):
    """A rebalance to which a commit belongs, and how: `text` says it behind the name of the owner."""

    log_offset: int
    """The record of the rebalance; of one that a broker's log alone tells, the commit's own."""
    text: str
    text_of_many: str
    """As `text`, of several commits that belong to rebalances in the same way."""
    line: ServerLine | None = None


class Handovers:
    """The rebalances of one group, as far as its commits may belong to them."""

    def __init__(self, rows: GroupRows, server_log: ServerLog) -> None:
        """Read the rows of a group; `server_log` is what brokers' own logs say."""
        self._rows, self._server_log = rows, server_log
        self._holdings = _holdings(rows.members)
        self._generations = list(_generations(rows.groups))

    def begins_of(self, at: TopicPartition) -> tuple[Sequence[Begin], Sequence[Begin]]:
        """Return when members got a partition, and when generations began in which they may have got it again, each in log order.

        All partitions share the second one.
        """
        holdings = self._of(at)
        return [Begin(holding.from_offset, holding.from_at) for holding in holdings], self._generations

    def of(self, row: OffsetHistoryRow, before: int) -> Handover | None:
        """Return the rebalance to which a commit belongs; `before` is the log offset of its partition's commit before, -1 without.

        None where the owner has committed since it got the partition, and kept it afterwards.
        """
        if row.member_id is None or before < 0:
            return None
        holdings = self._of(TopicPartition(row.topic, row.partition))
        number = bisect_right(holdings, row.commit_log_offset, key=lambda holding: holding.from_offset) - 1
        if number < 0 or holdings[number].member_id != row.member_id:
            return None
        return (
            self._first(holdings, number, before)
            or self._first_of_generation(row, before)
            or self._given_up(row, holdings, number)
        )

    def _of(self, at: TopicPartition) -> Sequence[HeldSpan]:
        return self._holdings.get(f"{at.topic}-{at.partition}", ())

    def _first(self, holdings: Sequence[HeldSpan], number: int, before: int) -> Handover | None:
        """Return that the commit is the owner's first since it got the partition, as the holding of this number says."""
        holding, earlier = holdings[number], holdings[:number]
        if holding.from_offset <= before:
            return None
        source = next((span for span in reversed(earlier) if span.identity != holding.identity), None)
        is_back = any(span.identity == holding.identity for span in earlier)
        deed = (
            "got the partition back"
            if is_back
            else "took the partition over"
            if source
            else "got the partition"
        )
        by_whom = f" from {named(self._rows.names.name(source.member_id))}" if source else ""
        generation = self._number_at(holding.from_offset)
        return Handover(
            holding.from_offset,
            f"its first commit after it {deed}{by_whom}{f' with {generation}' if generation else ''}",
            f"the first commits after {'the partitions changed hands' if source else 'they got the partitions'}",
        )

    def _first_of_generation(self, row: OffsetHistoryRow, before: int) -> Handover | None:
        """Return that the commit is the first in a generation of a classic group, over which the owner kept the partition."""
        last = bisect_right(self._generations, row.commit_log_offset, key=lambda begin: begin.log_offset) - 1
        began = self._generations[last].log_offset if last >= 0 else -1
        if began <= before:
            return None
        number = self._number_at(began)
        return Handover(
            began,
            f"its first commit after the rebalance to {number}",
            f"the first commits after the rebalance to {number}",
        )

    def _given_up(self, row: OffsetHistoryRow, holdings: Sequence[HeldSpan], number: int) -> Handover | None:
        """Return that the owner was to give the partition up, by its own record or by the broker's log, or that it then did."""
        line = self._preparing(row)
        if line is not None:
            text = f"while the broker prepared the rebalance to generation {(row.generation or 0) + 1}{SAID}"
            return Handover(row.commit_log_offset, text, text, line)
        name = f"{row.topic}-{row.partition}"
        of_owner = (
            member for member in self._rows.by_member.get(row.member_id or "", ()) if _holds(member, row)
        )
        if any(name in member.pending_revocation for member in of_owner):
            text = "while it had to give the partition up"
            return Handover(row.commit_log_offset, text, "while they were to be given up")
        return self._last(row, *holdings[number : number + 2])

    def _last(
        self, row: OffsetHistoryRow, holding: HeldSpan, heir: HeldSpan | None = None
    ) -> Handover | None:
        """Return that the commit is the owner's last before a rebalance gave the partition to another member, the heir."""
        if heir is None or heir.identity == holding.identity or holding.to_offset is None:
            return None
        if difference(heir.from_at, row.from_timestamp) > SOON_MS:
            return None
        following = self._rows.offsets.by_partition.following(
            TopicPartition(row.topic, row.partition), row.from_log_offset
        )
        if following is not None and following.commit_log_offset < holding.to_offset:
            return None
        number = self._number_at(heir.from_offset)
        to = named(self._rows.names.name(heir.member_id))
        return Handover(
            holding.to_offset,
            f"its last commit before {to} took the partition over{f' with {number}' if number else ''}",
            "the last commits before the partitions changed hands",
        )

    def _preparing(self, row: OffsetHistoryRow) -> ServerLine | None:
        """Return the line that says that the broker had begun to prepare the rebalance that ended the commit's generation."""
        state = self._rows.state_at(row.commit_log_offset)
        if state is None or state.kind != GroupKind.CLASSIC:
            return None
        lines = self._server_log.of_group(self._rows.group, LineKind.PREPARING)
        begun = (
            line
            for line in lines
            if line.number == state.generation
            and line.at is not None
            and state.from_timestamp <= line.at <= row.from_timestamp
        )
        return next(begun, None)

    def _number_at(self, log_offset: int) -> str | None:
        state = self._rows.state_at(log_offset)
        if state is None or state.kind == GroupKind.SIMPLE:
            return None
        return f"generation {state.generation}" if state.epoch is None else f"epoch {state.epoch}"


def _holds(member: MemberHistoryRow, row: OffsetHistoryRow) -> bool:
    """Return whether a member's row held when a commit was made."""
    log_offset = row.commit_log_offset
    return member.from_log_offset <= log_offset and (
        member.to_log_offset is None or log_offset < member.to_log_offset
    )


def _holdings(members: Iterable[MemberHistoryRow]) -> Mapping[str, Sequence[HeldSpan]]:
    """Return who held each partition, as texts of the histories, in the order of the log; rows that go on are one holding."""
    holdings = defaultdict[str, list[HeldSpan]](list)
    for row in members:
        for name in set(row.held):
            of_name = holdings[name]
            if (
                of_name
                and of_name[-1].member_id == row.member_id
                and of_name[-1].to_offset == row.from_log_offset
            ):
                of_name[-1] = of_name[-1]._replace(to_offset=row.to_log_offset)
            else:
                identity = row.instance_id or row.member_id
                of_name.append(
                    HeldSpan(
                        row.member_id, identity, row.from_log_offset, row.from_timestamp, row.to_log_offset
                    )
                )
    return holdings


def _generations(groups: Iterable[GroupHistoryRow]) -> Iterator[Begin]:
    """Yield where the generations of a classic group with members began."""
    classic = (row for row in groups if row.kind == GroupKind.CLASSIC and row.members)
    for _, rows in groupby(classic, key=lambda row: row.generation):
        first = next(rows)
        yield Begin(first.from_log_offset, first.from_timestamp)
