"""`assignments`: owners as `describe --members` has them, since when, until when; audits of the last or of all assignments."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from offsets_tool.as_of.views_members import member_rows
from offsets_tool.cli import main
from offsets_tool.evidence.replaying import snapshot_of
from tests.corpora import FIXTURES

CORPORA = FIXTURES / "corpora"
KIP848 = CORPORA / "4.3.1-kip848/segments"
MIX = CORPORA / "2.4.1-mix/segments"
COMPACTED = CORPORA / "4.1.2-compaction/segments"


def invoke(*args: object) -> Result:
    return CliRunner().invoke(main, ["assignments", *map(str, args)])


def rows(*args: object) -> list[dict[str, Any]]:
    result = invoke(*args)
    assert result.exit_code == 0, result.output
    return [json.loads(line) for line in result.stdout.splitlines()]


@pytest.mark.parametrize("moment", [[], ["--as-of", "4:31"], ["--as-of", "2026-11-21T12:08:10Z"]], ids=str)
def test_owners_are_those_of_the_members(moment: list[str]) -> None:
    snapshot = snapshot_of(KIP848, **({"as_of": moment[1]} if moment else {}))
    owned = Counter(
        (row["group"], row["member_id"], text)
        for row in member_rows(snapshot)
        for text in {*row["assignment"], *row["pending_revocation"]}
    )
    found = rows(KIP848, *moment)
    assert Counter((r["group"], r["member_id"], f"{r['topic']}-{r['partition']}") for r in found) == owned
    assert all(row["to_at"] is None and row["end_cause"] is None and row["from_at"] for row in found)


def test_over_time_one_partition() -> None:
    found = rows(MIX, "--group", "grove-orders", "--topic", "iris.export", "--partition", 0, "--over-time")
    assert [(row["generation"], row["end_cause"]) for row in found] == [(1, "revoked"), (3, None)]
    assert (
        found[0]["to_at"] == found[1]["from_at"] and found[0]["to_log_offset"] == found[1]["from_log_offset"]
    )


def test_audits_of_the_last_assignments_and_of_all() -> None:
    last, every = rows(MIX, "--audit"), rows(MIX, "--audit", "--over-time")
    assert len(last) < len(every) and all(row in every for row in last)
    assert len({row["group"] for row in last}) == len(last)
    assert {row["agreement"] for row in every} == {"equal", "consistent", "undecided"}
    assert {row["basis"] for row in every if row["agreement"] == "undecided"} == {None}


def test_what_cannot_be_shown() -> None:
    refused = invoke(MIX, "--audit", "--topic", "t")
    assert refused.exit_code == 2 and "drop --topic, or drop --audit" in refused.output
    assert "group 'nobody'" in invoke(MIX, "--group", "nobody").stderr.replace('"', "'")


def test_a_topic_that_nobody_owns(tmp_path: Path) -> None:
    result = invoke(MIX, "--topic", "nowhere")
    assert result.exit_code == 0 and not result.stdout and "nowhere" in result.stderr
