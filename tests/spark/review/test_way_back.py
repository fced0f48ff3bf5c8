"""The way back that a review of a lake proposes is that of the log: of each incident, of joined copies, and with known ends."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from offsets_tool.evidence.filters import wanted_of
from offsets_tool.review.asked import ReviewAsked
from offsets_tool.review.review import review_of
from offsets_tool.review.way_back import WayBack
from spark.derived.ends import EndsRequest
from spark.derived.lag import LagRequest, lag
from spark.review.review import review_of_lake
from spark.run import run_findings
from tests.corpora import FIXTURES, INCIDENTS
from tests.depth import sample
from tests.spark.lakes import ingest_here, no_session
from tests.spark.replay.test_copies import replay_here

pytestmark = pytest.mark.spark

COPIES = FIXTURES / "corpora-replicated" / "4.1.2-unclean"
PLANNED = (
    *("admin-turns-back-one-partition", "group-deleted", "idle-simple-client", "member-jumps-ahead"),
    *("member-seeks-back", "offsets-deleted", "reset-to-earliest", "script-in-the-group"),
    *("unsubscribed-topic-expired", "weekend-read-again", "weekend-skipped"),
)
"""Incidents in which offsets were lost or moved."""


def lake_of(made: Path, *paths: Path) -> str:
    ingest_here(made, *paths)
    assert not replay_here(made).problems
    assert not run_findings(str(made), no_session).problems
    return str(made)


def held_together(here: WayBack | None, there: WayBack | None) -> None:
    """Assert that two plans say the same, but for the command that writes the file."""
    assert here is not None and there is not None
    assert here.plan.rows == there.plan.rows and here.plan.transactions == there.plan.transactions
    assert (here.to, here.proposal, here.why()) == (there.to, there.proposal, there.why())
    assert here.page._replace(steps=[]) == there.page._replace(steps=[])
    assert [each.text for each in here.page.steps] == [each.text for each in there.page.steps]
    assert [each.commands for each in here.page.steps if each.text != "Write the file:"] == [
        each.commands for each in there.page.steps if each.text != "Write the file:"
    ]


@pytest.mark.parametrize("name", sample(PLANNED, 3))
def test_the_plan_of_a_lake_is_that_of_the_log(tmp_path: Path, name: str) -> None:
    log = INCIDENTS / name / "segments"
    held_together(review_of_lake(lake_of(tmp_path, log), ReviewAsked()).plan, review_of(log).plan)


def test_offsets_of_an_earlier_topic_are_left_alone(tmp_path: Path) -> None:
    """What other groups commit tells that the topic is another one."""
    log, asked = INCIDENTS / "topic-recreated" / "segments", ReviewAsked(wanted_of(["dashboard"]))
    here, there = review_of_lake(lake_of(tmp_path, log), asked).plan, review_of(log, group="dashboard").plan
    held_together(here, there)
    assert here is not None
    assert "topic_recreated" in {risk.risk for row in here.plan.rows for risk in row.risks}


def test_it_knows_the_ends_that_the_lake_knows(tmp_path: Path) -> None:
    log, file = INCIDENTS / "reset-to-earliest" / "segments", tmp_path / "ends.txt"
    known = review_of(log, group="payments").plan
    assert known is not None
    file.write_text(
        "".join(f"{row.topic}:{row.partition}:{45 + row.partition * 9}\n" for row in known.plan.rows)
    )
    lake = lake_of(tmp_path / "lake", log)
    lag(lake, no_session, LagRequest(ends=EndsRequest(files=[str(file)])))
    here = review_of_lake(lake, ReviewAsked(wanted_of(["payments"]))).plan
    held_together(here, review_of(log, group="payments", ends=[file]).plan)
    assert here is not None and "above_end" in {risk.risk for row in here.plan.rows for risk in row.risks}


def test_of_joined_copies_it_is_that_of_all_that_is_known(tmp_path: Path) -> None:
    paths: Sequence[Path] = (COPIES / "brokers", COPIES / "copies" / "b3-killed")
    there = review_of(*paths, view="evidence").plan
    assert there is not None and there.proposal is not None and there.proposal.group is not None
    asked = ReviewAsked(wanted_of([there.proposal.group]))
    here = review_of_lake(lake_of(tmp_path, *paths), asked).plan
    held_together(here, there)
    assert here is not None and "--view evidence" in here.command


def test_a_plan_is_only_of_what_is_asked_about(tmp_path: Path) -> None:
    log = INCIDENTS / "reset-to-earliest" / "segments"
    lake = lake_of(tmp_path, log)
    others = [each.group for each in review_of(log).verdict.ranked if each.group != "payments"]
    assert others and review_of_lake(lake, ReviewAsked(wanted_of(others))).plan is None
    here = review_of_lake(lake, ReviewAsked(wanted_of(["payments"]))).plan
    held_together(here, review_of(log, group="payments").plan)
