"""diagnose, explain and timeline as a person sees them: complaints answered by one command, in every format and width."""

import json
import re
import shlex
from collections import Counter
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from offsets_tool import open_evidence
from offsets_tool.cli import main
from offsets_tool.cli.answers.paragraphs import markdown
from offsets_tool.cli.layout import cell_width
from tests.cli.test_terminal import NAMES, on_terminal
from tests.corpora import CORPORA, FIXTURES
from tests.replay.story import commit, group_metadata, member
from tests.replay.story_segments import in_order, write_log


def run(command: str, corpus: str | Path, *options: str) -> Result:
    where = CORPORA / corpus / "segments" if isinstance(corpus, str) else corpus
    result = CliRunner().invoke(main, [command, str(where), *options])
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result


COMPLAINTS = [
    ("2.1.1-expiry", "ember.mailer-left", r"lost 2 offsets of topic jade_stock at .*expired"),
    (
        "3.3.2-mix",
        "cedar-fraud-del",
        r"was deleted at .*, with 2 offsets of topic fjord_metrics; no commit followed",
    ),
    ("4.3.1-classic", "search-deleted-cd34", r"^CRITICAL .* 14 behind where it had been"),
    ("4.3.1-classic", "risk-sticky-91", r"from outside .*while the group had no members"),
    ("3.9.2-txn", "pricing-hang-43", r"has a transaction open .*2 commits wait"),
    ("3.9.2-txn", "clicks-fence-75", r"aborted .*another producer took over"),
    ("3.9.2-txn", "returns-timeout-52", r"aborted .*it timed out"),
    ("4.3.1-kip848", "sessions-migrate-60", r"converted from classic to consumer"),
    ("2.4.1-mix", "iris_pricing", r"moved 3,681 back .*by a member of the group"),
    ("4.3.1-classic", "reports-static-42", r"Static member inst-b .*was replaced"),
]
"""By corpus and group, what one command must say."""


@pytest.mark.slow
@pytest.mark.parametrize(("corpus", "group", "answer"), COMPLAINTS, ids=lambda value: value[:20])
def test_a_complaint_is_answered_by_one_command(corpus: str, group: str, answer: str) -> None:
    said = run("diagnose", corpus, "--group", group)
    assert said.exit_code == 0
    first = said.stdout.splitlines()[0]
    assert group in first
    assert re.search(answer, said.stdout, re.MULTILINE), said.stdout
    for part in (
        "What it means: ",
        "What to do: ",
        "Seen at ",
        "At the end of the log, ",
        "The evidence is complete",
    ):
        assert part in said.stdout


def test_a_log_is_ranked_and_quiet_groups_are_counted() -> None:
    said = run("diagnose", "3.3.2-mix").stdout
    lines = said.splitlines()
    assert re.match(
        r"This log needs attention: 1 critical finding, \d+ warnings and \d+ notices in \d+ of 25 groups\.",
        lines[0],
    )
    assert re.search(r"^basil_clicks-reborn +critical", said, re.MULTILINE)
    assert re.search(r"^And 15 more groups, \d+ of them with findings\.$", said, re.MULTILINE)


def test_where_nothing_is_wrong_it_says_so() -> None:
    said = run("diagnose", "4.3.1-kip848", "--group", "search-cons-f689").stdout
    assert said.startswith("Nothing stands out in group search-cons-f689.\n")
    assert "No log says which commits were refused" in said


def test_strict_tells_a_critical_finding_by_the_exit_code() -> None:
    assert run("diagnose", "3.3.2-mix", "--strict").exit_code == 3
    assert run("diagnose", "4.3.1-kip848", "--strict").exit_code == 0


def test_a_group_that_is_not_there_is_named_with_the_nearest() -> None:
    for command in ("diagnose", "explain", "timeline"):
        said = run(command, "2.4.1-mix", "--group", "iris_pricin")
        assert said.stdout == "" or command == "diagnose"
        assert "nearest: 'iris_pricing'" in said.stderr


def test_json_has_an_object_for_each_group() -> None:
    rows = [
        json.loads(line) for line in run("diagnose", "3.9.2-txn", "--format", "jsonl").stdout.splitlines()
    ]
    assert len(rows) == 8 and rows[0]["severity"] != "notice"
    for row in rows:
        assert row["verdict"] and all(each["group"] == row["group"] for each in row["findings"])


def test_groups_with_equal_findings_are_ranked_by_the_bytes_of_their_records() -> None:
    corpus = CORPORA / "3.3.2-mix" / "segments"
    sizes = Counter[str]()
    with open_evidence(corpus) as evidence:
        for event in evidence.events():
            if event.group is not None:
                sizes[event.group] += len(event.record.key or b"") + len(event.record.value or b"")
    rows = [json.loads(line) for line in run("diagnose", corpus, "--format", "jsonl").stdout.splitlines()]
    assert {row["group"]: row["bytes"] for row in rows} == sizes
    quiet = [row["bytes"] for row in rows if not row["findings"]]
    assert len(quiet) > 1 and quiet == sorted(quiet, reverse=True)


def test_explain_needs_a_group() -> None:
    said = run("explain", "2.4.1-mix")
    assert said.exit_code == 2 and "--group" in said.stderr


def test_a_story_ends_at_the_moment_and_with_the_state_then() -> None:
    said = run("explain", "2.4.1-mix", "--group", "iris_pricing", "--at", "3:5").stdout
    assert "generation 2" in said and "generation 3" not in said
    assert (
        "At 3:5, the group is a classic group, Stable since 2026-11-21T12:25:48Z (generation 2), with 2 members"
        in said
    )


def test_the_story_of_one_offset() -> None:
    said = run(
        "explain", "2.4.1-mix", "--group", "iris_pricing", "--topic", "umber.export", "--partition", "0"
    ).stdout
    assert "offset 411,805,111 to 753,567,912" in said and "moved" not in said
    assert "The committed offset is 753,567,912, since" in said


@pytest.mark.parametrize("format_", ["text", "markdown", "jsonl"])
def test_every_sentence_has_its_time_and_place(format_: str) -> None:
    said = run("explain", "4.3.1-classic", "--group", "search-deleted-cd34", "--format", format_).stdout
    if format_ == "jsonl":
        rows = [json.loads(line) for line in said.splitlines()]
        assert [row["log_offset"] for row in rows if "log_offset" in row] == [36, 37, 38, 41, 43, 47, 47]
        return
    form = {
        "text": r"^2026-11-21T12:12:0\dZ  0:(\d+)  \S",
        "markdown": r"^- \*\*2026-11-21T12:12:0\dZ\*\* `0:(\d+)` \S",
    }
    assert re.findall(form[format_], said, re.MULTILINE) == ["36", "37", "38", "41", "43", "47", "47"]


def test_a_slice_has_what_happened_around_a_moment() -> None:
    options = ("--slice", "2026-11-21T12:08:25Z", "--window", "1s", "--format", "jsonl")
    rows = [json.loads(line) for line in run("timeline", "4.3.1-kip848", *options).stdout.splitlines()]
    assert rows and rows == sorted(rows, key=lambda row: row["at"])
    for row in rows:
        assert (
            row["at"] <= "2026-11-21T12:08:26.000Z"
            and (row["until"] or row["at"]) >= "2026-11-21T12:08:24.000Z"
        )


def test_a_slice_and_a_range_are_refused_together() -> None:
    said = run("timeline", "2.4.1-mix", "--slice", "2026-11-21T12:08:25Z", "--since", "2026-11-21T12:08:25Z")
    assert said.exit_code == 2 and "--slice" in said.stderr


def test_a_range_leaves_out_what_was_over_before_it() -> None:
    whole = run("diagnose", "3.9.2-txn", "--format", "jsonl").stdout
    later = run("diagnose", "3.9.2-txn", "--format", "jsonl", "--since", "2026-11-21T12:22:54Z").stdout
    kinds = [
        {each["kind"] for line in said.splitlines() for each in json.loads(line)["findings"]}
        for said in (whole, later)
    ]
    assert "offsets_deleted" in kinds[0] - kinds[1] and kinds[1] >= {
        "transaction_fenced",
        "hanging_transaction",
    }


def test_lag_is_told_where_ends_are_known() -> None:
    said = CliRunner().invoke(main, ["diagnose", str(FIXTURES / "lag/broker"), "--group", "lag-lost"]).stdout
    assert "It is 300 records behind in 1 partition whose ends are known." in said
    assert "records behind" not in run("diagnose", "2.4.1-mix", "--group", "iris_pricing").stdout


def test_the_offsets_from_before_are_one_command_away() -> None:
    said = run("diagnose", "4.3.1-classic", "--group", "search-deleted-cd34").stdout
    (line,) = re.findall(r"^  (offsets-tool offsets .*)$", said, re.MULTILINE)
    rows = CliRunner().invoke(main, shlex.split(line)[1:]).stdout.splitlines()
    assert [json.loads(row)["committed_offset"] for row in rows] == [15, 15, 15]


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a_b", "a_b"),
        ("_a_", r"\_a\_"),
        ("*x*", r"\*x\*"),
        ("<b>|`c`", r"\<b\>\|\`c\`"),
        ("[a](b)", r"\[a\](b)"),
    ],
)
def test_no_name_is_taken_for_markdown(text: str, shown: str) -> None:
    assert markdown(text) == shown


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A log of names that are hard to show."""
    folder = tmp_path_factory.mktemp("names")
    story = [commit(name, name or "t", 2**31 - 1, 2**62, metadata=name) for name in NAMES]
    story += [group_metadata(name, 2**31 - 1, member(name or "m")) for name in NAMES]
    story += [commit(name, name or "t", 2**31 - 1, 5, metadata=name) for name in NAMES]
    return write_log(folder, in_order(*story))


@pytest.mark.slow
def test_no_line_is_wider_than_the_terminal(log: Path) -> None:
    evidence = [str(log), str(CORPORA / "4.3.1-classic/segments")]
    every = ("--group", "*")
    commands = [[name, where] for where in evidence for name in ("diagnose", "timeline")]
    commands += [[name, where, *every] for where in evidence for name in ("diagnose", "explain", "timeline")]
    asked = [(width, command) for command in commands for width in (80, 200)]
    for (width, command), screen in zip(asked, on_terminal(asked), strict=True):
        assert screen.lines, (command, screen.said)
        wide = [line for line in screen.lines if cell_width(line) > width]
        # A command to run is shown whole, whatever the names in it.
        assert [line for line in wide if not line.startswith("    --group ")] == []


@pytest.mark.slow
@pytest.mark.parametrize("command", ["diagnose", "explain", "timeline"])
def test_hostile_names_move_no_terminal_and_give_json(command: str, log: Path) -> None:
    for options in ([], ["--format", "jsonl"], *([["--format", "markdown"]] if command == "explain" else [])):
        said = run(command, log, "--group", "*", *options).stdout
        assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e\u2028]", said)
        if "jsonl" in options:
            groups = {json.loads(line).get("group") for line in said.splitlines()}
            assert groups == set(NAMES)
