"""A review of a lake says what one of the log says: findings, events, rebalances and records; and its page is made the same way."""

from collections.abc import Sequence
from pathlib import Path

import pytest
from click.testing import CliRunner

from offsets_tool.errors import UsageError
from offsets_tool.events import Event
from offsets_tool.evidence.event_json import event_json
from offsets_tool.evidence.filters import wanted_of
from offsets_tool.evidence.moments.moment_texts import Clock
from offsets_tool.review.asked import ReviewAsked, asked_about
from offsets_tool.review.review import review_of
from spark.cli import main
from spark.review import ranking
from spark.review.review import review_of_lake
from spark.run import run_findings
from tests.corpora import CORPORA, INCIDENTS
from tests.replay.story import commit
from tests.replay.story_segments import in_order, write_log
from tests.report.pages import Parsed, page_of
from tests.spark.lakes import ingest_here, no_session
from tests.spark.replay.test_copies import replay_here

pytestmark = pytest.mark.spark

CLUSTERS = {
    "classic": (INCIDENTS / "reset-to-earliest" / "segments", "payments"),
    "kip848": (CORPORA / "4.3.1-kip848" / "segments", "search-cons-*"),
}


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("lake")
    for cluster, (log, _) in CLUSTERS.items():
        ingest_here(made, log, cluster=cluster)
    assert not replay_here(made).problems
    assert not run_findings(str(made), no_session).problems
    return made


def asked(group: str) -> ReviewAsked:
    return ReviewAsked(wanted_of([group]))


def contents(events: Sequence[Event]) -> list[tuple[object, ...]]:
    """Return the contents of events without their batches, which a lake has as columns."""
    return [
        (event_json(each)["key"], event_json(each)["value"], each.record.key, each.record.value)
        for each in events
    ]


@pytest.mark.parametrize("cluster", CLUSTERS)
def test_a_review_of_a_lake_is_that_of_the_log(lake: Path, cluster: str) -> None:
    log, group = CLUSTERS[cluster]
    here, there = review_of_lake(str(lake), asked(group), cluster), review_of(log, group=group)
    assert here.findings == there.findings and here.headlines == there.headlines
    assert here.timeline == there.timeline and here.timeline
    assert [each.group for each in here.groups] == [each.group for each in there.groups]
    for one, other in zip(here.groups, there.groups, strict=True):
        assert list(one.rebalances) == list(other.rebalances)
        assert one.rows == other.rows
        assert one.explained.story == other.explained.story and one.explained.events == other.explained.events
    common = here.cited.records.keys() & there.cited.records.keys()
    assert common == here.cited.records.keys() and common
    assert {at: contents(here.cited.records[at]) for at in common} == {
        at: contents(there.cited.records[at]) for at in common
    }
    assert {each.sha256 for each in here.coverage.files} == {each.sha256 for each in there.coverage.files}
    assert here.newest_at == there.newest_at


@pytest.mark.parametrize("wrong", [0, 4_102_444_800_000], ids=["1970", "2100"])
def test_a_record_of_a_wrong_clock_reaches_no_window(tmp_path: Path, wrong: int) -> None:
    placed = in_order(*(commit("g", "t", 0, number) for number in range(9)), timestamp=1_795_726_063_000)
    placed[5] = placed[5]._replace(timestamp=wrong)
    log, made = tmp_path / "log", tmp_path / "lake"
    write_log(log, placed)
    ingest_here(made, log, cluster="")
    assert not replay_here(made).problems and not run_findings(str(made), no_session).problems
    bounds = {"until": "2026-01-01"} if wrong == 0 else {"since": "2027-01-01"}
    here = review_of_lake(str(made), asked_about(Clock.in_zone(), **bounds))
    there = review_of(log, **bounds)
    assert here.verdict.reach.unreached() == there.verdict.reach.unreached() is not None
    assert (
        "The records here are from 2026-11-26T20:47:43Z to 2026-11-26T20:47:51Z." in here.coverage.sentences
    )
    assert here.coverage.sentences == there.coverage.sentences


@pytest.mark.parametrize("group", [None, "any"])
def test_a_window_without_a_record_is_no_all_clear(lake: Path, group: str | None) -> None:
    log, name = CLUSTERS["classic"]
    window = asked_about(Clock.in_zone(), group=group and name, since="2030-01-01")
    here, there = (
        review_of_lake(str(lake), window, "classic"),
        review_of(log, group=group and name, since="2030-01-01"),
    )
    assert here.headlines == there.headlines and here.verdict.coverage == there.verdict.coverage
    assert "no record is from the window" in here.headlines[0].lower()
    assert "complete" not in " ".join(here.coverage.sentences)


def test_without_a_group_it_is_of_the_whole_cluster(lake: Path) -> None:
    log, _ = CLUSTERS["classic"]
    here, there = review_of_lake(str(lake), ReviewAsked(), "classic"), review_of(log)
    assert (here.headlines, here.findings) == (there.headlines, there.findings)
    assert here.timeline == there.timeline and here.verdict.coverage == there.verdict.coverage
    assert [each.group for each in here.verdict.ranked] == [each.group for each in there.verdict.ranked]
    assert [each.rows for each in here.groups] == [each.rows for each in there.groups]
    assert [each.state for each in here.verdict.ranked] == [each.state for each in there.verdict.ranked]


def test_only_of_the_worst_groups_rows_are_read(lake: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log, _ = CLUSTERS["kip848"]
    monkeypatch.setattr(ranking, "MOST_RANKED", 3)
    here, there = review_of_lake(str(lake), ReviewAsked(), "kip848", most_groups=2), review_of(log)
    assert here.verdict.groups == there.verdict.groups > 3
    assert (len(here.verdict.ranked), len(here.groups)) == (3, 2)
    assert sorted(here.findings) == sorted(there.findings) and here.headlines == there.headlines
    worst = [[finding.severity for finding in each.findings] for each in here.verdict.ranked]
    assert worst == [[finding.severity for finding in each.findings] for each in there.verdict.ranked[:3]]
    page = Parsed(page_of(here))
    assert f"The worst 2 of {here.verdict.groups} groups are told in detail" in page.text
    assert f"{here.verdict.groups - 3} more groups are not shown here" in page.text


def test_the_command_writes_a_page_and_says_what_it_needs(lake: Path, tmp_path: Path) -> None:
    file = tmp_path / "a.html"
    typed = ["report", "--lake", str(lake), "-o", str(file)]
    done = CliRunner().invoke(main, [*typed, "--cluster", "classic", "--group", "payments"])
    assert done.exit_code == 0, done.stderr
    page = Parsed(file.read_text())
    assert "Group payments needs attention: 1 warning." in page.text and "the log itself" in page.text
    assert "Nobody named a moment: proposed is 1:43" in page.text
    assert (
        "offsets-tool plan LOG... --as-of 1:43 --group payments --format csv --output reset.csv" in page.text
    )
    assert {link[1:] for link in page.links} <= set(page.ids)
    whole = CliRunner().invoke(main, [*typed, "--cluster", "classic"])
    assert whole.exit_code == 0, whole.stderr
    assert "This log needs attention: 1 warning in 1 of 2 groups." in Parsed(file.read_text()).text
    several = CliRunner().invoke(main, [*typed, "--group", "payments"])
    assert several.exit_code == 2 and "name one with --cluster" in several.stderr


@pytest.mark.parametrize(("cluster", "said"), [("no", "the lake has no cluster"), (None, "--cluster")])
def test_what_is_refused(lake: Path, cluster: str | None, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        review_of_lake(str(lake), asked("g"), cluster)
