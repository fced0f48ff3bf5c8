"""Did a group rebalance again and again? A storm is a run of generations or epochs, each soon after the one before."""

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator
from itertools import pairwise
from typing import Final, NamedTuple

from offsets_tool.findings.context import LogContext
from offsets_tool.findings.finder import Places, finder, found
from offsets_tool.findings.group_rows import GroupRows
from offsets_tool.findings.rows import Finding, FindingKind, Severity
from offsets_tool.findings.runs import runs
from offsets_tool.findings.sentences import count, from_time, listed, named, span
from offsets_tool.rebalances.holdings import EAGER
from offsets_tool.rebalances.members import GroupMembers, client_name
from offsets_tool.rebalances.rebalance import (
    Rebalance,
    rebalance_number,
    rebalance_steps,
    rebalances_of,
)
from offsets_tool.replay.changes import GroupKind
from offsets_tool.server_log.join import ServerLog, TimeSpan
from offsets_tool.server_log.reasons import Reason, RebalanceCause
from offsets_tool.wire.longs import difference

STORM: Final = FindingKind(
    "rebalance_storm",
    Severity.WARNING,
    "The group rebalanced many times in a short time: its members hardly read anything in between.",
    "Look at the members that come and go most: their session timeout, max.poll.interval.ms, restarts and deployments.",
)
REJOINING: Final = (
    "Nobody came or went before most of them: look at the members' own logs for why they join again, such as topics, a "
    "subscription or a configuration that keeps changing; the coordinator's log (--server-log) says which member asked."
)
"""What to do about a storm in which the members stay: who comes and goes is no cause of it."""
LEAST: Final = 10
"""The fewest rebalances that are worth a notice: starting a group of a few members makes less."""
WARNED_FROM: Final = 15
"""The fewest rebalances that are a warning: a rolling restart, where each member leaves and joins, makes less in small groups."""
EACH: Final = 2
"""Rebalances for each member that one rolling restart of a larger group makes: no more than these are no warning."""
EACH_TWICE: Final = 4
"""The same where each coming and going takes two: one to give partitions up, one to hand them out (KIP-429, KIP-415)."""
LINES: Final = 3
"""How many lines of a broker's log are evidence of a storm, of those that say why it rebalanced."""
APART_MS: Final = 60_000
"""How long a group rests, at most, between two rebalances of one storm."""


class _Rebalance(NamedTuple):
    """The record that began a generation or an epoch."""

    log_offset: int
    at: int
    number: int


@finder(STORM)
def find_storms(rows: GroupRows, context: LogContext) -> Iterator[Finding]:
    """Yield a finding for each run of rebalances that is long enough."""
    for run in runs(_rebalances(rows), _is_next):
        if len(run) >= LEAST:
            yield _storm(rows, run, context)


def _is_next(before: _Rebalance, after: _Rebalance) -> bool:
    return abs(difference(after.at, before.at)) <= APART_MS


def _rebalances(rows: GroupRows) -> Iterator[_Rebalance]:
    """Yield the rebalances of a group in the order of the log; none for protocols without a common wait, or with too few rows."""
    steps = rebalance_steps(rows, GroupMembers(rows)) if len(rows.groups) >= LEAST else iter(())
    for step in steps:
        # Without times (message formats before 0.10) nobody knows what followed soon.
        if step.after is not None and step.after.kind != GroupKind.SHARE and step.at >= 0:
            yield _Rebalance(step.first, step.at, rebalance_number(step.after))


def _storm(rows: GroupRows, run: list[_Rebalance], context: LogContext) -> Finding:
    first, last = run[0], run[-1]
    is_restart = len(run) <= _each(rows, first.log_offset) * _most_members(
        rows, first.log_offset, last.log_offset
    )
    reasons = _reasons(rows, run, context.server_log)
    causes = _StormCauses.of(rows, run, context)
    return found(
        STORM,
        rows,
        Places(tuple(each.log_offset for each in run), first.at, last.at),
        f"Group {named(rows.group)} rebalanced {count(len(run), 'time')} within {span(difference(last.at, first.at))}"
        f"{from_time(first.at)}{causes.text()}{_movers(rows, first.log_offset, last.log_offset)}"
        f"{_stated_reasons(reasons)}",
        severity=Severity.NOTICE if len(run) < WARNED_FROM or is_restart else Severity.WARNING,
        remedy=STORM.remedy if causes.is_of_members else REJOINING,
        lines=[each.entry for each in reasons[:LINES]],
    )


def _reasons(rows: GroupRows, run: list[_Rebalance], server_log: ServerLog) -> list[Reason]:
    """Return the reasons that the broker's lines give for the rebalances of a storm, but for the first."""
    if not server_log:
        return []
    first, last = run[0], run[-1]
    state, within = rows.state_at(first.log_offset), TimeSpan(first.at, last.at)
    if state is not None and state.kind == GroupKind.CLASSIC:
        said = server_log.generations(rows.group, range(first.number, last.number), within)
    else:
        turnover = GroupMembers(rows).turnover(first.log_offset + 1, last.log_offset)
        changed = {*turnover.joined, *turnover.left, *turnover.resubscribed}
        is_proven = first.log_offset >= rows.proven_from
        said = server_log.epochs(
            rows.group,
            range(first.number + 1, last.number + 1),
            within,
            turnover.joined,
            changed if is_proven else None,
        )
    return [each for each in said if each.cause is not RebalanceCause.UNKNOWN]


def _stated_reasons(reasons: list[Reason]) -> str:
    """Return how often the broker's log gives which reason."""
    times = Counter(each.cause.replace("_", " ") for each in reasons).most_common()
    said = ", ".join(f"{cause} {count(number, 'time')}" for cause, number in times)
    return f"; by the broker's log: {said}" if said else ""


def _each(rows: GroupRows, at: int) -> int:
    """Return how many rebalances the restart of one member causes, by the group's protocol."""
    row = rows.state_at(at)
    is_eager = row is None or row.kind != GroupKind.CLASSIC or row.protocol in EAGER
    return EACH if is_eager else EACH_TWICE


def _most_members(rows: GroupRows, first: int, last: int) -> int:
    """Return how many members the group had at most in a stretch of the log."""
    return max((row.members for row in rows.states_within(first, last)), default=0)


class _StormCauses(NamedTuple):
    """How many rebalances of a storm, after its first, came with which change of the members, as far as the log shows."""

    left: int
    joined: int
    resubscribed: int
    handed_out: int
    """The second halves of cooperative rebalances: members get what others gave up in the one before (KIP-429)."""
    same: int
    """Those that nothing of this tells of."""

    @classmethod
    def of(cls, rows: GroupRows, run: list[_Rebalance], context: LogContext) -> "_StormCauses":
        """Return the numbers of a storm."""
        numbers: Counter[str] = Counter()
        rebalances = list(rebalances_of(rows, context.session_timeout_ms))
        begins = [rebalance.step.first for rebalance in rebalances]
        ends = [bisect_right(begins, each.log_offset) for each in run]
        for first, last in pairwise(ends):
            numbers.update(_changes(rebalances[first:last]))
        return cls(*(numbers[name] for name in cls._fields))

    @property
    def is_of_members(self) -> bool:
        """Whether somebody came or went before at least half of the rebalances that are no second halves."""
        return self.left + self.joined >= self.same + self.resubscribed

    def text(self) -> str:
        """Return the numbers in words, each behind a semicolon; nothing for a storm without any."""
        members = [
            f"{word} before {number}"
            for word, number in (
                ("left", self.left),
                ("joined", self.joined),
                ("asked for other topics", self.resubscribed),
            )
            if number
        ]
        texts = [f"members {listed(members)} of them"] if members else []
        if self.handed_out:
            texts.append(f"{self.handed_out} handed out what members had given up in the one before")
        if self.same:
            texts.append(f"{self.same} had the same members as the one before")
        return "".join(f"; {text}" for text in texts)


def _changes(rebalances: list[Rebalance]) -> list[str]:
    """Return the fields of _StormCauses in which one rebalance of a storm counts."""
    comings = [each.comings for each in rebalances]
    changes = {
        "left": any(each.left or each.replaced for each in comings),
        "joined": any(each.joined or each.replaced for each in comings),
        "resubscribed": any(each.resubscribed for each in comings),
    }
    names = [name for name, is_so in changes.items() if is_so]
    if names:
        return names
    is_second = any(each.why.cause is RebalanceCause.GIVEN_UP for each in rebalances)
    return ["handed_out" if is_second else "same"]


def _movers(rows: GroupRows, first: int, last: int) -> str:
    """Return a text on the client that joined or left most often after the record at `first`, up to that at `last`."""
    moved: Counter[str] = Counter()
    for of_member in rows.by_member.values():
        first_row = of_member[0]
        name = client_name(first_row.instance_id, first_row.client_id, first_row.member_id) or ""
        moved[name] += first < of_member[0].from_log_offset <= last
        moved[name] += first < (of_member[-1].to_log_offset or -1) <= last
    ((name, times),) = moved.most_common(1) or [("", 0)]
    return f"; {named(name)} came and went most, {count(times, 'time')}" if times > 1 else ""
