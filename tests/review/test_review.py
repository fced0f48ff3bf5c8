"""A review says what the commands say: of each incident the verdict, the timeline, the plan, and the records that are named."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from offsets_tool import review_of
from offsets_tool.cli import main
from offsets_tool.cli.answers.plan import plan_json
from offsets_tool.cli.answers.timeline import sentence_row
from offsets_tool.errors import UsageError
from offsets_tool.evidence.ends import EndSources
from offsets_tool.evidence.event_json import event_json
from offsets_tool.evidence.evidence import open_evidence
from offsets_tool.evidence.moments.moment_texts import Clock, as_of_bound, parse_bound
from offsets_tool.evidence.replaying import EvidenceReplay
from offsets_tool.review.asked import ReviewAsked
from offsets_tool.review.review import Review, ReviewInputs, review_replay
from tests.corpora import FIXTURES, INCIDENTS
from tests.depth import sample

FOLDERS = sorted(INCIDENTS.iterdir())
COPIES = FIXTURES / "corpora-replicated" / "4.1.2-unclean"


def lines(*command: str) -> list[dict[str, object]]:
    done = CliRunner().invoke(main, [*command, "--format", "jsonl"])
    assert done.exit_code == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def group_of(folder: Path) -> str | None:
    must = json.loads((folder / "expected.json").read_text())["must"]
    return next((each["group"] for each in must if each.get("group")), None)


@pytest.mark.parametrize("folder", sample(FOLDERS, 4), ids=lambda folder: folder.name)
def test_a_review_says_what_the_commands_say(folder: Path) -> None:
    log, group = str(folder / "segments"), group_of(folder)
    asked = [] if group is None else ["--group", group]
    review = review_of(log, group=group, most_groups=100)
    assert [each.title for each in review.findings] == [
        found["title"]
        for row in lines("diagnose", log, *asked)
        for found in row["findings"]  # type: ignore[attr-defined]
    ]
    assert [sentence_row(each) for each in review.timeline] == [
        {**row, "evidence": tuple(row["evidence"])}
        for row in lines("timeline", log, *asked)  # type: ignore[arg-type]
    ]
    assert [each.group for each in review.groups] == [each.group for each in review.verdict.ranked]
    assert [each.ranked.rebalances for each in review.groups] == [
        len(each.rebalances) for each in review.groups
    ]
    assert sum(each.missing for each in review.coverage.partitions) == 0
    if review.plan is not None:
        planned = lines("plan", log, "--as-of", review.plan.to, "--group", review.plan.proposal.group)  # type: ignore[union-attr,list-item]
        assert json.loads(json.dumps([plan_json(row) for row in review.plan.plan.rows])) == planned


@pytest.mark.parametrize("folder", sample(FOLDERS, 4), ids=lambda folder: folder.name)
def test_the_records_that_are_named_are_those_of_the_log(folder: Path) -> None:
    review = review_of(folder / "segments")
    with open_evidence(folder / "segments") as evidence:
        events = {
            f"{each.record.log_partition}:{each.record.log_offset}": event_json(each, raw=True)
            for each in evidence.events()
        }
    shown = review.cited.records
    assert {place: [event_json(each, raw=True) for each in some] for place, some in shown.items()} == {
        place: [events[place]] for place in shown
    }
    places = {place for each in review.timeline for place in each.places if ":" in place}
    assert places - shown.keys() == set() and len(shown) == review.cited.named


def test_most_records_keeps_the_places_at_which_findings_are_found() -> None:
    with EvidenceReplay(open_evidence(FIXTURES / "corpora" / "4.3.1-classic" / "segments")) as replay:
        review = review_replay(
            replay, ReviewAsked(), ReviewInputs(EndSources(), most_groups=100, most_records=15)
        )
    assert len(review.cited.records) == 15 < review.cited.named
    assert {each.evidence[0] for each in review.findings} == set(review.cited.records)


def test_several_groups_are_told_the_worst_first_and_the_others_counted() -> None:
    review = review_of(FIXTURES / "corpora" / "4.3.1-classic" / "segments", most_groups=2)
    assert [each.group for each in review.groups] == [each.group for each in review.verdict.ranked[:2]]
    assert len(review.verdict.ranked) == 20
    told = {each.group for each in review.timeline}
    assert told <= {None, *(each.group for each in review.groups)}


def test_a_moment_that_is_named_is_the_plan_s() -> None:
    log = INCIDENTS / "reset-to-earliest" / "segments"
    review = review_of(log, group="payments", plan_as_of="2026-11-23T02:30:12Z")
    assert review.plan is not None and review.plan.proposal is None
    assert [row.new_offset for row in review.plan.plan.rows] == [50, 50, 50, 50]
    assert "'2026-11-23" not in " ".join(
        review.plan.command
    ) and "--as-of 2026-11-23T02:30:12.000Z" in " ".join(review.plan.command)


def test_a_range_chooses_findings_and_sentences() -> None:
    log = INCIDENTS / "reset-to-earliest" / "segments"
    review = review_of(log, group="payments", since="1:60")
    assert review.findings == [] and review.plan is None
    assert min(each.last_log_offset for each in review.timeline) >= 60
    assert review.headlines == ["Nothing stands out in group payments."]


def test_of_copies_each_record_at_a_place_is_shown(tmp_path: Path) -> None:
    review = review_of(COPIES / "brokers", COPIES / "copies" / "b3-killed", most_groups=100)
    assert all(review.cited.records.values())
    assert max(len(some) for some in review.cited.records.values()) > 1


def test_a_review_is_of_the_whole_log() -> None:
    log = INCIDENTS / "quiet-night" / "segments"
    as_of = as_of_bound(parse_bound(("2026-11-23T02:30Z",), "as_of", Clock.in_zone()))
    with EvidenceReplay(open_evidence(log), as_of) as replay, pytest.raises(UsageError, match="whole log"):
        review_replay(replay, ReviewAsked(), ReviewInputs(EndSources()))


def test_a_quiet_night_has_no_plan() -> None:
    review: Review = review_of(INCIDENTS / "quiet-night" / "segments")
    assert review.headlines == ["Nothing stands out in this log, of 5 groups."]
    assert (review.plan, review.findings) == (None, [])


def test_lag_is_there_where_ends_are_known() -> None:
    """A broker's directory has its topics' own logs; of a segment alone only commits tell how far a topic goes."""
    known = review_of(FIXTURES / "lag" / "broker", most_groups=100)
    shown = lines("lag", str(FIXTURES / "lag" / "broker"))
    behind = {
        (row["group"], row["topic"], row["partition"]): row["lag"]
        for row in shown
        if row["method"] == "index"
    }
    last = {(row.group, row.topic, row.partition): row.lag for each in known.groups for row in each.lag}
    assert behind and last == behind
    assert not any(each.lag for each in review_of(FOLDERS[0] / "segments").groups)


def test_whose_bytes_the_log_is_made_of_is_what_size_says() -> None:
    log = FIXTURES / "corpora" / "4.3.1-classic" / "segments"
    shown = lines("size", str(log))
    sizes = review_of(log).sizes
    assert shown and [(row["group"], row["bytes"]) for row in sizes] == [
        (row["group"], row["bytes"]) for row in shown
    ]
    assert not review_of(log, group=[str(shown[0]["group"])]).sizes
