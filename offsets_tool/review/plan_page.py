"""Prepare a plan for review: summary, notes, risks, rows, and steps with their commands."""

from typing import NamedTuple

from offsets_tool.evidence.answers.planning import Plan
from offsets_tool.plans.commands import ClusterAddress
from offsets_tool.plans.rows import PlanAction, PlanRow
from offsets_tool.plans.steps import PlanStep, ToReset, WriteFile, steps
from offsets_tool.plans.summary import (
    RiskMatter,
    headline,
    later_commits,
    movements,
    risk_matters,
    unknown_ends,
)
from offsets_tool.story.sentence import when
from offsets_tool.time_texts import shown_time
from offsets_tool.wire.json import Release


class PlanPage(NamedTuple):
    """The texts and rows of a plan, ready to be laid out."""

    headline: str
    sentences: list[str]
    """What it comes to, and what it rests on."""
    warnings: list[str]
    """What is to be known before all risks: what the evidence lacks."""
    matters: list[RiskMatter]
    rows: list[PlanRow]
    """Those that are to be set or left out."""
    steps: list[PlanStep]


class KafkaTools(NamedTuple):
    """How to call Kafka's own tools: the cluster's address, and their release; None any from 2.4 on."""

    cluster: ClusterAddress = ClusterAddress()
    release: Release | None = None


def plan_page(plan: Plan, lacking: str | None, tools: KafkaTools, write_file: WriteFile) -> PlanPage:
    """Return the page of a plan; `lacking` notes what the evidence lacks, `write_file` gives the command that writes its file."""
    present = [group for partition in plan.end for group in partition.state.groups]
    now = when(plan.end.newest_timestamp)
    return PlanPage(
        headline(plan.rows, moment_text(plan)),
        [
            *movements(plan.rows),
            *later_commits(plan.rows),
            f"Now is {now}, {_newest_record(plan)}: what happened since is not in the plan.",
            *unknown_ends(plan.rows),
        ],
        [] if lacking is None else [lacking],
        risk_matters(plan.rows),
        [row for row in plan.rows if _is_shown(row)],
        list(
            steps(
                ToReset(groups_to_reset(plan), present, plan.transactions),
                tools.cluster,
                tools.release,
                write_file,
            )
        ),
    )


def _newest_record(plan: Plan) -> str:
    """Return words on the record that ends the log: the newest of all, unless copies that were left out have a newer one."""
    newest = plan.end.newest_timestamp
    found = [p.coverage.contradiction for p in plan.end if p.coverage.contradiction is not None]
    later = [each for each in found if newest is None or (each.left_out_at or newest) > newest]
    if not later:
        return "the newest record of this evidence"
    at = max(each.left_out_at for each in later if each.left_out_at is not None)
    return (
        f"the newest record that counts (copies that contradict it, and are left out, go on until {when(at)})"
    )


def moment_text(plan: Plan) -> str:
    """Return the moment of a plan as text that --as-of takes."""
    as_of = plan.moment.as_of
    if as_of.time is not None:
        return shown_time(as_of.time) or str(as_of.time)
    return ", ".join(f"{number}:{end}" for number, end in sorted((as_of.ends or {}).items()))


def groups_to_reset(plan: Plan) -> list[str]:
    """Return the groups that are to be reset, by name."""
    return sorted({row.group for row in plan.with_action(PlanAction.RESET)})


def _is_shown(row: PlanRow) -> bool:
    """Return whether a page shows the row: it does not where the offset is unchanged, or the group did not exist."""
    return row.action is not PlanAction.KEEP and all(risk.risk != "created_since" for risk in row.risks)
