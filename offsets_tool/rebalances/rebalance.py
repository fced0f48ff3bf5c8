"""The rebalances of one group: each step that began a generation or an epoch, with who came and went, who held what, and why."""

from collections.abc import Iterator
from typing import NamedTuple

from offsets_tool.history.rows import GroupHistoryRow
from offsets_tool.rebalances.causes import MEMBERS_WENT, NOBODY_CAME, UNKNOWN, Causes, Comings, RebalanceWhy
from offsets_tool.rebalances.histories import GroupHistories
from offsets_tool.rebalances.holdings import HoldingSweep, StepHoldings
from offsets_tool.rebalances.members import GroupMembers, Turnover
from offsets_tool.rebalances.steps import GroupStep, number_of, steps_of
from offsets_tool.replay.changes import GroupKind
from offsets_tool.server_log.join import NO_SERVER_LOG, ServerLog


class Rebalance(NamedTuple):
    """A step that began a generation or an epoch, with its cause, its members and the partitions that they owned."""

    step: GroupStep
    number: int
    """The generation or epoch."""
    skipped: int
    """Generations or epochs between the one before and this one, which left no record."""
    comings: Comings
    holdings: StepHoldings
    why: RebalanceWhy


def rebalances_of(
    rows: GroupHistories, session_timeout_ms: int | None, server_log: ServerLog = NO_SERVER_LOG
) -> Iterator[Rebalance]:
    """Yield the rebalances of a group in the order of the log; none of groups without members of their own.

    `session_timeout_ms` is that of members whose records do not say theirs; None for Kafka's default. `server_log` has the brokers'
    own logs: what they state is certain.
    """
    members, sweep = GroupMembers(rows), HoldingSweep(rows)
    causes = Causes(rows, session_timeout_ms, server_log)
    covered_to = -1
    for step in rebalance_steps(rows, members):
        holdings, skipped = sweep.over(step), _skipped(step)
        comings, why = NOBODY_CAME, _unknown(step)
        if _has_before(step):
            # What happened since the rebalance before belongs to this one, but a replaced member needs none by itself.
            own = _of_turnover(rows, step.turnover)
            comings = _of_turnover(rows, members.turnover(covered_to + 1, step.last))
            judged = own if any(own) else comings._replace(replaced=())
            why = causes.of(step, judged, holdings, skipped=skipped)
        number = rebalance_number(step.after)
        why = causes.stated(step, comings, why, number=number, skipped=skipped)
        yield Rebalance(step, number, skipped, comings, holdings, why)
        covered_to = step.last


def rebalance_steps(rows: GroupHistories, members: GroupMembers) -> Iterator[GroupStep]:
    """Yield the steps of a group that are rebalances, in the order of the log."""
    return filter(is_rebalance, steps_of(rows, members))


def _unknown(step: GroupStep) -> RebalanceWhy:
    """Return the cause where records before are missing: of a group that is empty now, members went."""
    return MEMBERS_WENT if step.after is not None and not step.after.members else UNKNOWN


def _has_before(step: GroupStep) -> bool:
    """Return whether the log has the group's state before a step: all records, or those of the previous generation."""
    before, after = step.before, step.after
    if step.is_proven or after is None or after.generation == 1:
        return True
    if before is None or before.generation is None or after.generation is None:
        return False
    return before.kind == GroupKind.CLASSIC and before.generation + 1 == after.generation


def is_rebalance(step: GroupStep) -> bool:
    """Return whether a step began a generation or an epoch; the first of each, which is empty, is none."""
    after = step.after
    if after is None or after.kind == GroupKind.SIMPLE or not step.is_renumbered:
        return False
    return rebalance_number(after) > 0


def rebalance_number(row: GroupHistoryRow | None) -> int:
    """Return the generation or epoch of a group; 0 without a group."""
    number = number_of(row)
    return (number[1] or 0) if number else 0


def _skipped(step: GroupStep) -> int:
    before, after = step.before, step.after
    if before is None or after is None or before.kind != after.kind:
        return 0
    return max(rebalance_number(after) - rebalance_number(before) - 1, 0) if rebalance_number(before) else 0


def _of_turnover(rows: GroupHistories, turnover: Turnover) -> Comings:
    replaced = {rows.by_member[each][-1].instance_id for each in turnover.replaced}
    joined = (each for each in turnover.joined if rows.by_member[each][0].instance_id not in replaced)
    left = (each for each in turnover.left if each not in turnover.replaced)
    return Comings(tuple(joined), tuple(left), turnover.replaced, turnover.resubscribed)
