"""A record type, a release, a table of the lake and a finding are added by one declaration each: here, in a copy of the product.

Where each declaration goes, which CONTRIBUTING repeats:

- A record type: its key and value as classes in the module of its family, `offsets_tool/records/<family>.py`, and one entry in
  `_TABLE` of `offsets_tool/records/kinds.py`, with number, name, family, role, and the release that each layout came with. A role
  says what a record does: a type of a known role is decoded, printed, replayed, shown and kept as the others are. A new role is
  one more name in `Role` of that module and one more line in `Replays.by_role` of `offsets_tool/replay/epoch_groups.py`: without
  the line the coordinator does not import. A type that no release has any more gets `until`. Its bytes are a case for the tests.
- A release: the last range, or a line at the end, of `RELEASES` in `offsets_tool/records/kinds.py`; what a release prints otherwise
  is one more line in the tables of `offsets_tool/dialects`.
- A table: one `Table` in `offsets_tool/lake/tables.py`, with the class of its rows, its key, the columns that compaction sorts by,
  and the command that makes it (`made_by`). It is made with that command's tables, checked, compacted, shown to SQL, and named
  with the command that makes it where it is lacking.
- A finding: one module in a room of `offsets_tool/findings`, with its `FindingKind` and a function below `@finder`, or
  `@log_finder` for a log partition as a whole. The command shows it, and takes its name for `--kind`.
"""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Final

import pytest

pytestmark = pytest.mark.slow

ROOT: Final = Path(__file__).parents[2]

MESSAGES: Final = '''

@message()
class ShareGroupRegularExpressionKey:
    """A regular expression of a share group."""

    group_id: String
    regular_expression: String


@message(versions="0-1", flexible="0+")
class ShareGroupRegularExpressionValue:
    """The topics that it stands for."""

    topics: tuple[String, ...]
    version: Int64
    asked_by: String = since("1+", default="")
'''
RECORD_TYPE: Final = """    _type(
        24,
        "ShareGroupRegularExpression",
        Family.SHARE,
        Role.EXPRESSION,
        share.ShareGroupRegularExpressionKey,
        ("4.5", share.ShareGroupRegularExpressionValue),
    ),
"""
LAST_TYPE: Final = """        ("4.1", streams.StreamsGroupTopologyValue),
    ),
"""
RELEASE: Final = "    (4, 5),\n"
LAST_RELEASE: Final = "    *((4, minor) for minor in range(5)),\n"
TABLE: Final = """WATCHED_TOPICS = Table("watched_topics", TopicNameRow, ("cluster", "topic_id"), ("cluster", "topic_id"))
"""
LAST_TABLE: Final = 'REPLAYS = Table("replays"'
FINDING: Final = '''"""Is there a group with many members?"""

from collections.abc import Iterator

from offsets_tool.findings.context import LogContext
from offsets_tool.findings.finder import Places, finder, found
from offsets_tool.findings.group_rows import GroupRows
from offsets_tool.findings.rows import Finding, FindingKind, Severity

SEEN = FindingKind("group_seen", Severity.NOTICE, "There is a group.", "Be glad.")


@finder(SEEN)
def find_groups(rows: GroupRows, context: LogContext) -> Iterator[Finding]:
    """Yield a finding for each group."""
    for row in rows.groups[:1]:
        yield found(SEEN, rows, Places((row.from_log_offset,)), f"Group {rows.group} is there")
'''

RECORD: Final = """
from offsets_tool.events import Key, Value, decode, encode_key, encode_value
from offsets_tool.records import RECORD_TYPES, share
from offsets_tool.rows import LogRecord

TYPE = RECORD_TYPES[24]
KEY = encode_key(Key(TYPE, share.ShareGroupRegularExpressionKey(group_id="g", regular_expression="o.*")))
WRITTEN = share.ShareGroupRegularExpressionValue(topics=("orders",), version=7, asked_by="m")
VALUE = encode_value(Value(1, "4.5", WRITTEN))
RECORDS = [
    LogRecord(source="s", log_partition=0, log_offset=offset, timestamp=0, key=KEY, value=value)
    for offset, value in enumerate((VALUE, None))
]
"""


def add(file: Path, before: str, declared: str, *, is_after: bool = True) -> None:
    text = file.read_text(encoding="utf-8")
    assert text.count(before) == 1
    file.write_text(
        text.replace(before, before + declared if is_after else declared + before), encoding="utf-8"
    )


@pytest.fixture(scope="module")
def copied(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the product with a record type, a release, a table and a finding more."""
    folder = tmp_path_factory.mktemp("copied")
    for package in ("offsets_tool", "spark"):
        shutil.copytree(ROOT / package, folder / package)
    with (folder / "offsets_tool/records/share.py").open("a", encoding="utf-8") as module:
        module.write(MESSAGES)
    kinds = folder / "offsets_tool/records/kinds.py"
    add(kinds, LAST_TYPE, RECORD_TYPE)
    add(kinds, LAST_RELEASE, RELEASE)
    add(folder / "offsets_tool/lake/tables.py", LAST_TABLE, TABLE, is_after=False)
    (folder / "offsets_tool/findings/membership/seen.py").write_text(FINDING, encoding="utf-8")
    return folder


Run = Callable[..., str]


@pytest.fixture(scope="module")
def run(copied: Path) -> Run:
    """Return a function that runs Python with the copy in the product's place, and returns what it prints."""

    def ask(*arguments: str) -> str:
        environment = {**os.environ, "PYTHONPATH": f"{copied}{os.pathsep}{ROOT}"}
        done = subprocess.run(
            [sys.executable, *arguments],
            env=environment,
            capture_output=True,
            text=True,
            check=False,
            cwd=copied,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    return ask


@pytest.fixture(scope="module")
def segment(copied: Path, run: Run) -> str:
    """A segment with a value of the new record type, and its tombstone."""
    path = copied / "logs" / "__consumer_offsets-0" / f"{0:020d}.log"
    path.parent.mkdir(parents=True)
    script = f"""{RECORD}
from pathlib import Path
from tests.log.encoded_batches import record, v2

Path({str(path)!r}).write_bytes(v2(0, [record(0, KEY, VALUE), record(1, KEY, None)]))
"""
    run("-c", script)
    return str(path)


def test_the_record_type_is_decoded_and_replayed(run: Run) -> None:
    script = f"""{RECORD}
from offsets_tool.replay.coordinator import Coordinator
from offsets_tool.replay.rules import Rules

assert decode(RECORDS[0]).value.data == WRITTEN and decode(RECORDS[0]).problem is None
coordinator = Coordinator(0)
changes = [coordinator.replay(decode(record)) for record in RECORDS]
assert [change.after.expressions[0][0] for change in changes[0][1:]] == ["o.*"]
assert coordinator.state.groups["g"].expressions == () and coordinator.rules is Rules.NEW
"""
    run("-c", script)


def test_the_record_type_is_read_by_columns_as_by_the_reference(run: Run, segment: str) -> None:
    script = f"""
from offsets_tool.columns.decode import Origin
from offsets_tool.columns.reading import RowReader
from offsets_tool.relations.replays import Start
from offsets_tool.relations.histories import replay_batches
from offsets_tool.relations.row_events import with_raw

lanes = []
for fast in (True, False):
    (read,) = RowReader(fast=fast).read({segment!r}, Origin("", "s", 0, 1))
    lanes.append(read)
rows = [read.events.to_pylist() for read in lanes]
assert rows[0] == rows[1] and rows[0][0]["record_type"] == 24 and rows[0][0]["problem"] is None
assert rows[0][0]["value_json"] == '{{"topics":["orders"],"version":7,"askedBy":"m"}}'
told = list(replay_batches(Start(0), [with_raw(lanes[1].log, lanes[1].events)]))
assert [row["kind"] for each in told for row in each.groups.to_pylist()] == ["share", "share"]
"""
    run("-c", script)


def test_the_commands_know_type_and_release(run: Run, segment: str) -> None:
    tool = ("-m", "offsets_tool.cli")
    assert "askedBy" in run(*tool, "schema", "ShareGroupRegularExpression")
    assert '"4.5"' in run(*tool, "schema", "--format", "jsonl").splitlines()[-1]
    assert run(*tool, "decode", segment, "--format", "jsonl").count('"ShareGroupRegularExpression"') == 2
    assert run(*tool, "inspect", segment, "--format", "jsonl").count("ShareGroupRegularExpression v1") == 1
    assert '"g"' in run(*tool, "groups", segment, "--format", "jsonl")
    printed = {
        release: run(*tool, "decode", segment, "--formatter", "share-group", "--kafka-version", release)
        for release in ("4.4", "4.5")
    }
    assert printed["4.4"] == "" and '"version":1,"data":{"topics":["orders"]' in printed["4.5"]


def test_the_command_finds_and_knows_the_finding(run: Run, segment: str) -> None:
    tool = ("-m", "offsets_tool.cli", "findings", segment, "--format", "jsonl")
    shown = run(*tool, "--kind", "group-seen")
    assert shown.count("\n") == 1 and '"title":"Group g is there"' in shown and '"evidence":["0:0"]' in shown
    assert '"kind":"group_seen"' not in run(*tool, "--severity", "warning")


def test_the_newest_release_stands_for_a_log_that_tells_none(run: Run) -> None:
    script = """
from offsets_tool.dialects import formatter
from offsets_tool.dialects.versions import NEWEST, name_of
from offsets_tool.expiry.policy import ClusterFacts

assert name_of(NEWEST) == "4.5" and formatter("offsets", "4.5") is not None
assert ClusterFacts().basis(None, None, None).policy.release == (4, 5)
"""
    run("-c", script)


def test_the_lake_has_the_table_and_a_view_of_the_kind(run: Run, tmp_path: Path) -> None:
    script = f"""
from pathlib import Path
from deltalake import DeltaTable
from spark.lake.commit import REPLAY, ArrowLake
from spark.lake.spark_lake import create_statement
from offsets_tool.lake.tables import ALL_TABLES, REPLAY_TABLES
from offsets_tool.lake.contents import VIEWS

ArrowLake(Path({str(tmp_path)!r}), REPLAY).create()
made = {{path.name for path in Path({str(tmp_path)!r}).iterdir()}}
assert made == {{table.name for table in REPLAY_TABLES}} and "watched_topics" in made
assert REPLAY_TABLES[-1].name == "replays"
(table,) = [table for table in ALL_TABLES if table.name == "watched_topics"]
assert table.made_by == "replay"
assert "watched_topics" in create_statement(table, table.name)
columns = [field.name for field in DeltaTable({str(tmp_path / "watched_topics")!r}).schema().fields]
assert columns == list(table.schema.names)
(view,) = [view for view in VIEWS if view.name == "share_group_regular_expression"]
assert view.reads == ("events",) and "asked_by" in view.columns and "topics" in view.columns
"""
    run("-c", script)


def test_a_type_whose_role_nothing_replays_is_refused_at_once(copied: Path, tmp_path: Path) -> None:
    shutil.copytree(copied / "offsets_tool", tmp_path / "offsets_tool")
    kinds = tmp_path / "offsets_tool/records/kinds.py"
    text = kinds.read_text(encoding="utf-8")
    kinds.write_text(
        text.replace(RECORD_TYPE, RECORD_TYPE.replace("Role.EXPRESSION", "Role.COMMIT")), encoding="utf-8"
    )
    script = "import offsets_tool.replay.coordinator"
    done = subprocess.run(
        [sys.executable, "-c", script],
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
    )
    assert done.returncode == 1
    assert "record type 24 (ShareGroupRegularExpression) has no replay" in done.stderr
