"""Whatever a log holds: a plan for its end has nothing to do, and a plan that is run gives the offsets of its moment."""

from pathlib import Path
from random import Random
from typing import Any

import pytest

from offsets_tool.as_of.as_of import AsOf
from offsets_tool.events import decode_key
from offsets_tool.plans.rows import PlanAction
from offsets_tool.records.kinds import LEGACY_OFFSET_COMMIT, Role, types_of
from tests.depth import DEEP
from tests.expiry.log_cleaner import cleaned
from tests.plans.planned import NUMBER, planned, random_moment, standing, with_commits, written
from tests.replay.random_logs import CONTROL, READERS, Placed, ends

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
def test_a_plan_of_a_compacted_log_says_nothing_that_was_not_so(seed: int, tmp_path: Path) -> None:
    """But for what compaction brings back, in a coordinator that loads it too: an offset under a key of 0.8.2 beside a later one
    under today's, and offsets of a group whose own tombstone is gone."""
    placed, moment = random_moment(seed, READERS["4.3.1"])
    then = standing(written(tmp_path / "whole", placed), moment)
    plan = planned(written(tmp_path / "left", cleaned(placed, Random(seed))), moment)
    back = brought_back(placed)
    known = {row[:3]: row.new_offset for row in plan.rows if row.new_offset is not None}
    assert {at: offset for at, offset in known.items() if not {at, at[:1]} & back}.items() <= then.items()
    assert all(row.action is PlanAction.LEAVE for row in plan.rows if not row.is_proven)


def brought_back(placed: list[Placed]) -> set[tuple[Any, ...]]:
    """Return offsets with a key of 0.8.2 by group, topic and partition, and groups with a tombstone of their own record."""
    found: set[tuple[Any, ...]] = set()
    for _, key, value in (
        record for batch in placed if not batch.attributes & CONTROL for record in batch.records
    ):
        type_, data = decode_key(key)[:2]
        group = data.group if hasattr(data, "group") else data.group_id  # type: ignore[attr-defined]
        if type_.id == LEGACY_OFFSET_COMMIT:
            found.add((group, data.topic, data.partition))  # type: ignore[attr-defined]
        elif value is None and type_.id in types_of(Role.GROUP):
            found.add((group,))
    return found
