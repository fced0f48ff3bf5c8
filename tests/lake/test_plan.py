"""What a replay has to do, from what tables say: no files, no Spark."""

from typing import Any

import pytest

from offsets_tool.lake.plan import (
    LakeRow,
    LogPartition,
    New,
    Work,
    latest,
    plan,
    to_replay_again,
)
from offsets_tool.replay.rules import Rules


def row(partition: int, cluster: str = "c", **facts: Any) -> LakeRow:
    """Return a row of `replays` of a partition of the classic coordinator, replayed up to offset 100."""
    told: dict[str, Any] = {
        "cluster": cluster,
        "log_partition": partition,
        "next_log_offset": 100,
        "settled_log_offset": 98,
        "ingest_run": 4,
        "coordinator": "auto",
        "rules": "classic",
        "proving_log_offset": None,
        "differing_log_offset": None,
        "unnamed_topic_ids": [],
        "proven_from_log_offset": 0,
        "checkpoint": f"{cluster}-{partition}",
        "run": 1,
    }
    return told | facts


def known(*rows: LakeRow) -> dict[LogPartition, LakeRow]:
    return latest(rows)


def test_the_latest_row_of_a_partition_counts() -> None:
    assert (
        known(row(1, run=2), row(1, run=3, next_log_offset=7), row(1, run=1))["c", 1]["next_log_offset"] == 7
    )


def test_what_is_new_begins_and_the_largest_is_first() -> None:
    new = [New("c", 1, 5, 0), New("c", None, 9, 3)]
    assert plan({}, new, {}, {}) == [
        Work("c", None, 9, None, None, 0, 0),
        Work("c", 1, 5, None, None, 0, 0),
    ]


def test_a_partition_goes_on_where_it_was_left_and_others_are_left_alone() -> None:
    assert plan({}, [New("c", 1, 5, 100)], known(row(1), row(2)), {}) == [Work("c", 1, 5, None, "c-1", 4, 98)]


@pytest.mark.parametrize(
    ("asked", "first", "named", "facts"),
    [
        ("auto", 99, {}, {}),
        ("auto", 100, {"c": {"id": "name"}}, {"unnamed_topic_ids": ["other", "id"]}),
        ("classic", 100, {}, {}),
    ],
    ids=["older records came", "an id has a name", "other rules are asked for"],
)
def test_a_partition_is_told_from_its_first_record(
    asked: str, first: int, named: dict[str, dict[str, str]], facts: dict[str, Any]
) -> None:
    (work,) = plan({"c": asked}, [New("c", 1, 5, first)], known(row(1, **facts)), named)
    assert work == Work("c", 1, 5, Rules.CLASSIC if asked == "classic" else None, None, 0, 0)


def test_a_name_or_other_rules_are_enough_without_new_records() -> None:
    there = known(row(1, unnamed_topic_ids=["id"]), row(2), row(1, cluster="d", unnamed_topic_ids=["id"]))
    assert [each.key for each in plan({}, [], there, {"c": {"id": "name"}})] == [("c", 1)]
    assert len(plan({"c": "new", "d": "new"}, [], there, {})) == 3
    assert [each.key for each in plan({"d": "new"}, [], there, {})] == [("d", 1)]


def test_what_a_partition_proved_is_so_for_all_of_its_cluster() -> None:
    there = known(row(1, rules="new", proving_log_offset=3), row(2), row(2, cluster="d"))
    new = [New("c", 2, 5, 100), New("c", 3, 4, 0), New("d", 2, 3, 100)]
    assert [(each.key, each.rules, each.checkpoint) for each in plan({}, new, there, {})] == [
        (("c", 2), Rules.NEW, "c-2"),
        (("c", 3), Rules.NEW, None),
        (("d", 2), None, "d-2"),
    ]


def test_what_was_told_by_rules_that_do_not_hold_is_told_again() -> None:
    there = known(row(1, differing_log_offset=8), row(2), row(3, cluster="d", differing_log_offset=8))
    proof = known(
        row(4, rules="new", proving_log_offset=50),
        row(5, rules="new", proving_log_offset=50, differing_log_offset=20),
    )
    assert sorted(to_replay_again({}, there, proof)) == [("c", 1), ("c", 5)]
    assert to_replay_again({"c": "classic"}, there, proof) == []
    again = known(*(row(number, rules="new", differing_log_offset=8, run=2) for number in (1, 5)))
    assert to_replay_again({}, {**there, **proof}, again) == []
