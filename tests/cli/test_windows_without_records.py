"""A window that the records do not reach is no all-clear: it is said first, and from when to when the records are."""

import re
from itertools import product
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from hypothesis import given
from hypothesis import strategies as st

from offsets_tool.cli import main
from offsets_tool.evidence.evidence import open_evidence
from offsets_tool.evidence.filters import Filters, unreached
from offsets_tool.evidence.moments.moment_texts import Bound, OffsetInLog
from tests.corpora import FIXTURES
from tests.depth import DEEP
from tests.replay.story import commit
from tests.replay.story_segments import in_order, write_log

LOG = FIXTURES / "incidents/reset-to-earliest/segments"
"""Records of log partitions 1 and 3, of ten seconds on 2026-11-23."""
NONE = "no record is from the window asked for"
ALL_CLEAR = re.compile(
    r"stands out|is complete|no change|no finding|nothing differs|nothing happened", re.IGNORECASE
)
COMMANDS = (
    "diagnose",
    "diagnose --group payments",
    "timeline",
    "findings",
    "rebalances",
    "history",
    "decode",
)
UNREACHED = (
    "--since 2026-11-26T22:00Z",
    "--since 2026-11-20 --until 2026-11-21",
    "--since 2026-11-23T02:30:15Z --until 2026-11-23T02:30:10Z",
    "--since 1:5000",
    "--until 1:0",
)
REACHED = ("--since 2026-11-23T02:30:12Z", "", "--since 1:60", "--until 2026-11-23T02:30:12Z")


def by_command(windows: tuple[str, ...], of_reports: int) -> list[tuple[str, str]]:
    """Return each command with each window; `report` with the first of them, as its pictures take seconds."""
    reports = windows if DEEP else windows[:of_reports]
    return [*product(COMMANDS, windows), *product(["report"], reports)]


def invoke(*asked: str, tmp_path: Path, log: Path = LOG) -> Result:
    command, *options = " ".join(asked).split()
    page = ("-o", str(tmp_path / "page.html")) if command == "report" else ()
    return CliRunner().invoke(main, [command, str(log), *options, *page])


@pytest.mark.parametrize(("command", "window"), by_command(UNREACHED, 3))
def test_it_is_said_and_nothing_is_clear(command: str, window: str, tmp_path: Path) -> None:
    done = invoke(command, window, "--strict", tmp_path=tmp_path)
    assert done.exit_code == 3, done.output
    assert NONE in done.output.lower() and not ALL_CLEAR.search(done.output)
    assert re.search(
        r"records here are from 2026-11-23|is here from offset 0|not before --until", done.output
    )
    if command.startswith("diagnose"):
        said = [line for line in done.stdout.splitlines() if not line.startswith("--")]
        assert NONE in said[0].lower()
    if command == "report":
        page = (tmp_path / "page.html").read_text()
        assert NONE in page.lower() and not ALL_CLEAR.search(
            re.sub(r"(?s)<(script|style)\b.*?</\1>", "", page)
        )


@pytest.mark.parametrize(("command", "window"), by_command(REACHED, 1))
def test_a_window_with_records_is_told_as_before(command: str, window: str, tmp_path: Path) -> None:
    done = invoke(command, window, "--strict", tmp_path=tmp_path)
    assert done.exit_code == 0 and NONE not in done.output.lower()


@pytest.mark.parametrize("slice_at", ["2026-11-26T22:00Z", "2026-11-20T22:00Z"])
def test_a_slice_is_a_window_too(slice_at: str, tmp_path: Path) -> None:
    done = invoke("timeline --strict --slice", slice_at, tmp_path=tmp_path)
    assert done.exit_code == 3 and NONE in done.stderr and not ALL_CLEAR.search(done.output)


def test_each_verdict_says_from_when_to_when_the_records_are(tmp_path: Path) -> None:
    for command in (
        "diagnose",
        "diagnose --group payments",
        "explain --group payments",
        "diagnose --format jsonl",
    ):
        said = invoke(command, tmp_path=tmp_path).stdout
        assert "The records here are from 2026-11-23T02:30:09Z to 2026-11-23T02:30:19Z." in said


def test_of_a_group_its_own_log_partition_counts(tmp_path: Path) -> None:
    """Partition 3 goes on where partition 12 ends: nothing is known of what the group of 12 did then."""
    for number, group, records in ((12, "early", 2), (3, "late", 90)):
        write_log(tmp_path, in_order(*(commit(group, "t", 0, at) for at in range(records))), partition=number)
    early, late = (
        invoke("diagnose --since 80000 --group", group, tmp_path=tmp_path, log=tmp_path)
        for group in ("early", "late")
    )
    assert NONE in early.stdout and NONE not in late.stdout
    assert NONE not in invoke("diagnose --since 80000", tmp_path=tmp_path, log=tmp_path).stdout


def test_a_moment_after_the_records_is_called_by_its_option(tmp_path: Path) -> None:
    done = invoke("explain --group payments --at 2026-11-26T22:00Z", tmp_path=tmp_path)
    assert "--at: the newest record here is of" in done.stderr and "--as-of" not in done.output
    assert (
        "At the end of the records, 2026-11-23T02:30:19Z" in done.stdout and "2026-11-26" not in done.stdout
    )
    before = invoke("explain --group payments --at 2026-11-22T22:00Z", tmp_path=tmp_path)
    assert "choose a later --at" in before.stderr and "--as-of" not in before.output


def test_two_moments_after_the_records_do_not_equal_each_other(tmp_path: Path) -> None:
    for more in ("", "--to 2026-11-27T22:00Z"):
        done = invoke("diff --strict --from 2026-11-26T22:00Z", more, tmp_path=tmp_path)
        assert done.exit_code == 3 and NONE in done.stderr and not ALL_CLEAR.search(done.output)
    assert (
        NONE
        not in invoke("diff --from 2026-11-23T02:30:12Z --to 2026-11-23T02:30:15Z", tmp_path=tmp_path).stderr
    )


_BOUND = st.one_of(st.none(), st.integers(0, 8))


@given(records=st.integers(1, 6), since=_BOUND, until=_BOUND, is_by_place=st.booleans())
def test_what_is_called_unreached_has_no_record(
    records: int,
    since: int | None,
    until: int | None,
    is_by_place: bool,
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    folder = tmp_path_factory.mktemp("log")
    write_log(folder, in_order(*(commit("g", "t", 0, number) for number in range(records))))

    def bound(number: int | None) -> Bound:
        if number is None:
            return Bound()
        return Bound(places=(OffsetInLog(3, number),)) if is_by_place else Bound(time=number * 1000)

    asked = Filters(since=bound(since), until=bound(until))
    with open_evidence(folder) as evidence:
        events = list(evidence.events())
    within = [event for event in events if asked.matches(event)]
    # A range inside of a file may be without a record: the sums of files do not say that.
    assert (unreached(asked, evidence.ledgers) is None) is bool(within or (since is None and until is None))


@pytest.mark.parametrize(
    ("years", "window"),
    [(4, "--since 2027-01-01"), (74, "--since 2027-01-01"), (-56, "--until 2026-01-01")],
    ids=["2030", "2100", "1970"],
)
@pytest.mark.parametrize("place", [0, 1, 5])
@pytest.mark.parametrize(
    "command", ["diagnose", "diagnose --group g", "findings", "rebalances", "timeline --group h", "report"]
)
def test_a_record_of_a_wrong_clock_reaches_no_window(
    command: str, place: int, years: int, window: str, tmp_path: Path
) -> None:
    """What the records around it contradict says nothing of the years between."""
    began_at = 1_795_726_063_000
    records = [*(commit("g", "t", 0, number) for number in range(9)), commit("h", "t", 0, 1)]
    placed = in_order(*records, timestamp=began_at)
    placed[place] = placed[place]._replace(timestamp=began_at + years * 365 * 86_400_000)
    write_log(tmp_path, placed)
    done = invoke(command, "--strict", window, tmp_path=tmp_path, log=tmp_path)
    assert done.exit_code == 3
    assert NONE in done.output.lower() and not ALL_CLEAR.search(done.output)
    begins = "4" if place == 0 else "3"
    assert re.search(rf"here are from 2026-11-26T20:47:4{begins}\S* to 2026-11-26T20:47:52", done.output)
    assert not re.search("records here are from.*(1970|2030|2100)", done.output)


def test_what_is_shown_of_a_wrong_time_is_of_its_window(tmp_path: Path) -> None:
    placed = in_order(*(commit("g", "t", 0, number) for number in range(9)), timestamp=1_795_726_063_000)
    placed[5] = placed[5]._replace(timestamp=4_102_444_800_000)
    write_log(tmp_path, placed)
    for command in ("timeline", "history"):
        done = invoke(command, "--strict --since 2099-01-01", tmp_path=tmp_path, log=tmp_path)
        assert done.exit_code == 0 and "2100-01-01" in done.output and NONE not in done.output
