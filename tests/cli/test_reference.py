"""`partition` against Kafka's own answers, `schema` against the declarations, and the help of every command."""

import json
import re
import subprocess
import sys

import pytest
from click.testing import CliRunner

from offsets_tool.cli import main
from offsets_tool.errors import UsageError
from offsets_tool.placement import java_hash, partition_for
from offsets_tool.records import RECORD_TYPES
from spark.cli import main as spark
from tests.corpora import VECTORS

PLACES = [json.loads(line) for line in (VECTORS / "partition_for.jsonl").read_text().splitlines()]


def run(*args: str) -> list[dict[str, object]]:
    result = CliRunner().invoke(main, args)
    assert result.exit_code == 0, result.output
    return [json.loads(line) for line in result.stdout.splitlines()]


@pytest.mark.parametrize("place", PLACES, ids=lambda place: place["group"])
def test_a_group_lives_where_kafka_says(place: dict[str, object]) -> None:
    group = str(place["group"])
    assert java_hash(group) == place["java_hash"]
    assert (partition_for(group, 50), partition_for(group, 7)) == (place["p50"], place["p7"])


def test_partition_command_takes_many_groups() -> None:
    rows = run("partition", "", "testgroup", "test-group", "--partitions", "50")
    assert [row["log_partition"] for row in rows] == [0, 27, 12]


def test_no_partitions_is_refused() -> None:
    with pytest.raises(UsageError, match="positive"):
        partition_for("g", 0)


def test_schema_lists_every_record_type() -> None:
    assert [row["type"] for row in run("schema")] == list(RECORD_TYPES)


@pytest.mark.parametrize(
    "name",
    [
        *(str(number) for number in RECORD_TYPES),
        "groupmetadata",
        "offset-commit",
        "AssignmentInfo",
        "assignment_info",
    ],
)
def test_schema_of_one_type_or_blob(name: str) -> None:
    rows = run("schema", name)
    assert rows and all(row["field"] and row["versions"] for row in rows)


def test_schema_shows_versions_tags_and_nested_fields() -> None:
    rows = {(row["message"], row["field"]): row for row in run("schema", "OffsetCommit")}
    assert rows["OffsetCommitValue", "topicId"] | {"default": None} == {
        "message": "OffsetCommitValue",
        "field": "topicId",
        "kind": "uuid",
        "versions": "4",
        "tag": 0,
        "default": None,
        "release": "4.1",
    }
    nested = [row["field"] for row in run("schema", "StreamsGroupTopology")]
    assert "subtopologies.stateChangelogTopics.topicConfigs.key" in nested


def test_an_unknown_type_is_refused_with_a_remedy() -> None:
    result = CliRunner().invoke(main, ["schema", "nonsense"])
    assert result.exit_code == 2
    assert "offsets-tool schema" in result.stderr


def test_the_list_of_commands_imports_none_of_them() -> None:
    code = (
        "import sys; sys.argv[1:] = ['--help']; from offsets_tool.cli import main; main(standalone_mode=False); "
        "print(sorted(m for m in sys.modules if m.split('.')[0] in ('rich', 'pyarrow', 'numba', 'kafka', 'cramjam')))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"
    assert all(command in done.stdout for command in main.list_commands(None))  # type: ignore[arg-type]


@pytest.mark.parametrize("command", ["decode", "inspect", "partition", "schema"])
def test_every_command_explains_itself_with_an_example(command: str) -> None:
    result = CliRunner().invoke(main, [command, "--help"])
    assert result.exit_code == 0
    assert "Example" in result.output and f"offsets-tool {command}" in result.output


PROGRAMS = {"offsets-tool": main, "offsets-spark": spark}


@pytest.mark.parametrize("program", PROGRAMS)
def test_help_lists_every_command_once_under_the_question_that_it_answers(program: str) -> None:
    given = CliRunner().invoke(PROGRAMS[program], ["--help"], terminal_width=80).output
    listed = re.findall(r"^  ([a-z]+) +\S.*$", given.partition("--help  ")[2], re.MULTILINE)
    assert sorted(listed) == sorted(PROGRAMS[program].list_commands(None))  # type: ignore[arg-type]
    headings = re.findall(r"\n\n(\S.*)\n(?=  [a-z])", given)
    assert len(headings) >= 3 and all("?" in heading for heading in headings)
    assert max(map(len, given.splitlines())) <= 80


@pytest.mark.parametrize(
    ("program", "typed", "said"),
    [
        ("offsets-tool", ["descirbe"], "Did you mean describe?"),
        ("offsets-tool", ["trans"], "Did you mean transactions?"),
        ("offsets-tool", ["LAGS", "x"], "Did you mean lag?"),
        ("offsets-tool", ["schema", "GroupMetdata"], "Did you mean GroupMetadata"),
        ("offsets-tool", ["decode", "x", "--type", "OffsetComit"], "Did you mean OffsetCommit"),
        (
            "offsets-tool",
            ["partition", "g", "--format", "csv", "--show", "log"],
            "Did you mean log_partition?",
        ),
        ("offsets-tool", ["xyzzy"], "See offsets-tool --help."),
        ("offsets-tool", ["lag", "--gruop", "g"], "Did you mean '--group'?"),
        ("offsets-spark", ["reply"], "Did you mean replay?"),
        ("offsets-spark", ["sql", "--lak", "x"], "Did you mean '--lake'?"),
    ],
)
def test_what_is_mistyped_is_told_with_what_looks_like_it(program: str, typed: list[str], said: str) -> None:
    given = CliRunner().invoke(PROGRAMS[program], typed, prog_name=program)
    assert given.exit_code == 2 and said in given.stderr and given.stdout == ""
