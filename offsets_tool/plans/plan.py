"""Make the rows of a plan from cases: what is to be done with each committed offset. Prints nothing and runs nothing."""

from collections import Counter
from collections.abc import Iterable
from typing import Final

from offsets_tool.findings.committers import origin_of
from offsets_tool.plans.cases import OffsetCase
from offsets_tool.plans.kinds import ABOVE_END, TOPIC_IN_DOUBT, TOPIC_RECREATED
from offsets_tool.plans.restored import restored_expiry
from offsets_tool.plans.risks import RISKS, risks_of
from offsets_tool.plans.rows import PlanAction, PlanRow, Risk
from offsets_tool.wire.longs import difference


def plan_row(case: OffsetCase) -> PlanRow:
    """Return the row of a plan for a committed offset: its action and its risks.

    An unchanged offset has no risks, unless it may stand for another record than at the moment.
    """
    risks = _risks(case)
    action = _action(case, risks)
    new, current = case.new_offset, case.current_offset
    committers = Counter(origin_of(case.of.rows, row).committer(row).value for row in case.commits)
    removal, lag = case.removal, case.lag if case.is_changed or case.is_in_question else None
    expiry = restored_expiry(case) if action is PlanAction.RESET else None
    return PlanRow(
        *case.offset,
        action=action,
        current_offset=current,
        new_offset=new,
        difference=None if new is None or current is None else difference(new, current),
        risks=risks,
        is_proven=case.is_proven,
        metadata=case.moment["metadata"],
        commits_since=committers.total(),
        committed_by=tuple(word for word, _ in committers.most_common()),
        last_commit_at=case.commits[-1].from_timestamp if case.commits else None,
        removed_at=removal.removed_at if removal else None,
        removal_cause=removal.cause if removal else None,
        log_start_offset=lag.log_start_offset if lag else None,
        end_offset=lag.end_offset if lag else None,
        end_method=lag.method if lag else None,
        expires_at=expiry.at if expiry else None,
        log_partition=case.of.rows.log_partition,
        new_log_offset=_place(case),
        current_log_offset=case.current["log_offset"],
        is_current_proven=case.is_current_proven,
    )


def _risks(case: OffsetCase) -> tuple[Risk, ...]:
    if case.is_changed:
        return risks_of(case)
    return tuple(risk for risk in risks_of(case) if risk.risk in _OF_UNCHANGED) if case.is_in_question else ()


_OF_UNCHANGED: Final = frozenset(kind.name for kind in (TOPIC_RECREATED, ABOVE_END, TOPIC_IN_DOUBT))
"""The risks of an offset that is what it was: all others are about setting it."""


def _action(case: OffsetCase, risks: Iterable[Risk]) -> PlanAction:
    if any(RISKS[risk.risk].is_left_out for risk in risks):
        return PlanAction.LEAVE
    return PlanAction.RESET if case.is_changed else PlanAction.KEEP


def _place(case: OffsetCase) -> int | None:
    """Return the log offset of the commit of the moment; None where the group has moved to another log partition since."""
    log_offset: int | None = case.moment["log_offset"]
    return log_offset if case.moment["log_partition"] == case.of.rows.log_partition else None
