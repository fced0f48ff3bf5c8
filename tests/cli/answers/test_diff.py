"""`diff`: what `offsets` and `groups` say at two moments, compared by people and programs; none of it is lost between the two."""

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from offsets_tool.cli import main
from tests.corpora import FIXTURES
from tests.replay.story import commit, group_metadata, group_tombstone, member, tombstone
from tests.replay.story_segments import Placed, in_order, write_log

CORPORA = FIXTURES / "corpora"
REPLICATED = FIXTURES / "corpora-replicated"
MOMENTS = (
    (CORPORA / "4.3.1-kip848/segments", ["2026-11-21T12:08:33Z"], ["2026-11-21T12:08:37Z"]),
    (CORPORA / "3.9.2-compaction/segments", ["0:40", "1:200"], []),
    (REPLICATED / "4.1.2-unclean", ["0:30@2"], ["0:30@3"]),
    (REPLICATED / "3.9.2-nightly", ["0:30", "1:30"], []),
)


def invoke(*args: object) -> Result:
    return CliRunner().invoke(main, [str(each) for each in args])


def rows(*args: object) -> list[dict[str, Any]]:
    result = invoke(*args, "--format", "jsonl")
    assert result.exit_code == 0, result.output
    return [json.loads(line) for line in result.stdout.splitlines()]


def asked(option: str, texts: list[str]) -> list[str]:
    return [word for text in texts for word in (option, text)]


@pytest.mark.slow
@pytest.mark.parametrize(("log", "from_", "to"), MOMENTS, ids=lambda each: getattr(each, "parent", each))
def test_it_says_what_offsets_and_groups_say_at_both_moments(
    log: Path, from_: list[str], to: list[str]
) -> None:
    found = rows("diff", log, *asked("--from", from_), *asked("--to", to))
    for command, subject, names in (
        ("offsets", "offset", ("committed_offset", "metadata", "commit_timestamp")),
        ("groups", "group", ("state", "members", "generation", "epoch")),
    ):
        shown = [
            {
                (row["group"], row.get("topic"), row.get("partition")): row
                for row in rows(command, log, *moment)
            }
            for moment in (asked("--as-of", from_), asked("--as-of", to))
        ]
        places = {
            (row["group"], row["topic"], row["partition"]): row for row in found if row["subject"] == subject
        }
        for place in shown[0].keys() | shown[1].keys():
            sides = [each.get(place) for each in shown]
            values = [side and [side[name] for name in names] for side in sides]
            if place not in places:
                assert values[0] == values[1]
                continue
            told = [places[place][side] for side in ("from", "to")]
            assert [each and [each[name] for name in names] for each in told] == [
                value if side and side["is_proven"] else None
                for side, value in zip(sides, values, strict=True)
            ]
        assert places.keys() <= shown[0].keys() | shown[1].keys()


def story(folder: Path) -> Path:
    return write_log(
        folder,
        in_order(
            group_metadata("g", 1, member("m")),
            commit("g", "t", 0, 10),
            commit("g", "t", 1, 10),
            commit("old", "t", 0, 1),
            commit("g", "t", 0, 25),
            commit("g", "t", 1, 10),
            group_metadata("g", 2),
            tombstone("old", "t", 0),
            group_tombstone("old"),
        ),
    )


def test_what_moved_appeared_and_is_gone(tmp_path: Path) -> None:
    story(tmp_path)
    found = rows("diff", tmp_path, "--from", "3:4")
    told = [
        (row["group"], row["subject"], row["partition"], row["difference"], row["delta"]) for row in found
    ]
    assert told == [
        ("g", "group", None, "changed", None),
        ("g", "member", None, "gone", None),
        ("g", "offset", 0, "changed", 15),
        ("old", "group", None, "gone", None),
        ("old", "offset", 0, "gone", None),
    ]
    assert found[0]["fields"] == ["state", "generation", "protocol", "leader", "members"]
    backwards = rows("diff", tmp_path, "--from", "3:9", "--to", "3:4", "--group", "g")
    assert [row["delta"] for row in backwards] == [None, None, -15]


def test_nothing_differs_and_nobody_is_there(tmp_path: Path) -> None:
    story(tmp_path)
    same = invoke("diff", tmp_path, "--from", "3:4", "--to", "3:4", "--format", "table")
    assert (same.exit_code, same.stderr.splitlines()) == (0, ["nothing differs between the two moments"])
    nobody = invoke("diff", tmp_path, "--from", "3:4", "--group", "gg")
    assert nobody.stderr.startswith("group 'gg' is not there")


def test_what_compaction_took_is_unknown(tmp_path: Path) -> None:
    """Offsets 5 to 8 had a record each; of those before 8 the cleaner left two."""
    placed = [Placed(5, 5_000, commit("g", "t", 0, 10)), Placed(6, 6_000, commit("g", "t", 1, 10))]
    write_log(tmp_path, [*placed, Placed(9, 9_000, commit("g", "t", 2, 7))])
    (row,) = rows("diff", tmp_path, "--from", "3:7", "--topic", "t")
    assert (row["partition"], row["difference"]) == (2, "unknown")
    assert (row["from"], row["from_is_proven"], row["to"]["committed_offset"]) == (None, False, 7)


def test_it_needs_a_moment_and_one_for_each_partition(tmp_path: Path) -> None:
    story(tmp_path)
    assert "--from WHEN" in invoke("diff", tmp_path).stderr
    twice = invoke("diff", tmp_path, "--from", "3:4", "--to", "3:1", "--to", "3:2")
    assert (twice.exit_code, "--to names a log partition twice" in twice.stderr) == (2, True)
    beyond = invoke("diff", tmp_path, "--from", "3:4", "--to", "3:99")
    assert "--to 3:99: the log of partition 3 ends at 9" in beyond.stderr
