"""`rebalances`: fields, what is chosen, what is said where nothing is, and the table at a terminal's width."""

import json

from click.testing import CliRunner, Result

from offsets_tool.cli import main
from offsets_tool.rebalances.rows import RebalanceRow
from tests.cli.test_terminal import on_terminal
from tests.corpora import CORPORA, INCIDENTS

KIP848 = CORPORA / "4.3.1-kip848" / "segments"
GROUP = "search-cons-f689"


def run(*args: object) -> Result:
    return CliRunner().invoke(main, ["rebalances", str(KIP848), *map(str, args)])


def rows(*args: object) -> list[dict[str, object]]:
    done = run(*args)
    assert done.exit_code == 0, done.output
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_fields_are_those_of_the_row_and_members_are_objects() -> None:
    found = rows("--group", GROUP)
    assert [list(row) for row in found] == [list(RebalanceRow._fields)] * 5
    third = found[2]
    assert (third["epoch"], third["cause"], third["moved"], third["least_moves"]) == (
        4,
        "member_joined",
        6,
        6,
    )
    assert third["joined"] == [
        {"member_id": "5CW8yJvBTUSzlDsN_wXiXA", "instance_id": None, "client_id": f"{GROUP}-3"}
    ]
    assert [(held["client_id"], held["held_ms"]) for held in third["held_back"]] == [  # type: ignore[attr-defined]
        (f"{GROUP}-2", 88),
        (f"{GROUP}-1", 29),
    ]


def test_a_topic_a_time_and_a_place_choose() -> None:
    every = rows()
    assert rows("--topic", "media-*") == [row for row in every if "media-feeds" in row["topics"]]  # type: ignore[operator]
    ended = {(row["group"], row["epoch"]) for row in rows("--until", "2026-11-21T12:07:46Z")}
    assert ended == {(GROUP, 2), (GROUP, 3), (GROUP, 4)}
    at = rows("--since", "4:32", "--until", "4:33")
    assert [(row["group"], row["epoch"]) for row in at] == [(GROUP, 4)]


def test_what_is_said_where_nothing_is_shown() -> None:
    assert "nothing in this evidence has this name" in run("--group", "nobody").stderr
    assert "the records here are from" in run("--until", "2020-01-01").stderr
    simple = run("--group", "audit-simple*")
    assert simple.exit_code == 0


def test_a_row_has_one_line_and_the_bound_is_marked() -> None:
    log = str(INCIDENTS / "rolling-deployment" / "segments")
    narrow, wide = on_terminal([(width, ["rebalances", log]) for width in (80, 200)])
    assert narrow.lines[0].split() == ["AT", "GROUP", "EPOCH", "CAUSE", "TOOK", "WHO"]
    assert len(narrow.lines) == len(wide.lines)
    assert "-checkout-0" in narrow.lines[2] and " <124ms " in narrow.lines[2]
    assert {"MOVED", "LEAST", "UNOWNED", "CONFIDENCE"} <= set(wide.lines[0].split())
