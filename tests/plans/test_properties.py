"""Whatever a log holds: a plan for its end has nothing to do, and a plan that is run gives the offsets of its moment."""

from pathlib import Path
from random import Random

import pytest

from offsets_tool.as_of.as_of import AsOf
from offsets_tool.plans.rows import PlanAction
from tests.depth import DEEP
from tests.expiry.log_cleaner import cleaned
from tests.plans.planned import NUMBER, planned, random_moment, standing, with_commits, written
from tests.replay.random_logs import READERS, ends

SEEDS = range(60 if DEEP else 4)
VERSIONS = ("2.8.2", "3.9.2", "4.3.1")


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("version", VERSIONS)
def test_a_plan_that_is_run_gives_the_offsets_of_its_moment(seed: int, version: str, tmp_path: Path) -> None:
    placed, moment = random_moment(seed, READERS[version])
    plan = planned(written(tmp_path, placed), moment)
    then = standing(tmp_path, moment)
    lines = [line for row in plan.rows if (line := row.reset_line) is not None]
    after = standing(written(tmp_path, with_commits(placed, lines)))
    safe = [row[:3] for row in plan.rows if row.action is not PlanAction.LEAVE]
    assert {at: after.get(at) for at in safe} == {at: then.get(at) for at in safe}
    assert {row[:3]: row.new_offset for row in plan.rows if row.new_offset is not None} == then
    left = [row for row in plan.rows if row.action is PlanAction.LEAVE]
    assert all(row.risks for row in left)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_plan_for_the_end_has_nothing_to_do(seed: int, tmp_path: Path) -> None:
    placed, _ = random_moment(seed, READERS["4.3.1"])
    plan = planned(written(tmp_path, placed), AsOf(ends={NUMBER: ends(placed)[-1]}))
    assert plan.rows
    assert {(row.action, row.difference, row.risks) for row in plan.rows} == {(PlanAction.KEEP, 0, ())}


@pytest.mark.parametrize("seed", SEEDS)
def test_a_plan_of_a_compacted_log_sets_nothing_that_was_not_so(seed: int, tmp_path: Path) -> None:
    placed, moment = random_moment(seed, READERS["4.3.1"])
    then = standing(written(tmp_path / "whole", placed), moment)
    plan = planned(written(tmp_path / "left", cleaned(placed, Random(seed))), moment)
    known = [row for row in plan.rows if row.new_offset is not None]
    assert {row[:3]: row.new_offset for row in known}.items() <= then.items()
    assert all(row.action is PlanAction.LEAVE for row in plan.rows if not row.is_proven)
