"""Committed offsets for which the topic has no record: below the start of its log, beyond its end, of an earlier topic, below 0."""

from pathlib import Path
from typing import Final, NamedTuple

import pytest
from click.testing import CliRunner

from offsets_tool.cli import main
from offsets_tool.columns.lane.availability import ENGINE_VARIABLE, Engine
from offsets_tool.findings.context import NotOfTopic, Overtaken
from offsets_tool.findings.group_rows import GroupRow
from offsets_tool.history.rows import OffsetHistoryRow
from offsets_tool.replay.changes import TopicPartition
from offsets_tool.review.review import review_of
from tests.corpora import FIXTURES
from tests.findings.made import GROUP, START, TOPIC, commit, commits, found, group, live
from tests.replay import story
from tests.replay.story_segments import Placed, write_log

KIND = "records_deleted_unread"


def test_it_is_worse_with_members_and_summed_up_by_topic() -> None:
    starts = {TopicPartition(TOPIC, number): Overtaken(100, 150 + number) for number in (0, 1)}
    commits = [commit(3, 0, 100), commit(4, 0, 100, partition=1)]
    for members, severity in ((1, "critical"), (0, "warning")):
        of_group = found([group(1, 0, members), *commits], overtaken={GROUP: starts})
        [finding] = [each for each in of_group if each.kind == KIND]
        assert finding.severity == severity and finding.title.startswith("101 records of topic")
        assert finding.evidence == ("7:3", "7:4") and finding.partition is None
    [one] = [each for each in found(commits[:1], overtaken={GROUP: starts}) if each.kind == KIND]
    assert one.partition == 0 and "it stands at 100, and the log begins at 150" in one.title


def test_other_groups_and_partitions_without_a_known_start_are_left_alone() -> None:
    rows = [group(1, 0, 1), commit(3, 0, 100)]
    for overtaken in (
        {},
        {"other": {TopicPartition(TOPIC, 0): Overtaken(1, 2)}},
        {GROUP: {TopicPartition("x", 0): Overtaken(1, 2)}},
    ):
        assert KIND not in {each.kind for each in found(rows, overtaken=overtaken)}


def test_the_topics_own_logs_tell_it() -> None:
    review = review_of(FIXTURES / "lag" / "broker", most_groups=100)
    told = {each.group: each.title for each in review.findings if each.kind == KIND}
    assert list(told) == ["lag-lost"] and told["lag-lost"].startswith(
        "50 records of topic lag-created in partition 0 were deleted"
    )
    assert "records_deleted_unread" not in {
        each.kind for each in review_of(FIXTURES / "lag" / "broker" / "__consumer_offsets-1").findings
    }


class Case(NamedTuple):
    """Rows of a group, what ends tell of its offsets, and what is told: kind, severity, and a part of the title."""

    name: str
    rows: tuple[GroupRow, ...]
    offsets: dict[int, NotOfTopic]
    told: tuple[tuple[str, str, str], ...]

    def __str__(self) -> str:
        return self.name


HUNDRED: Final = commit(3, 0, 100)
BEYOND: Final = NotOfTopic(100, 50, is_beyond=True, is_topic_recreated=False)
EARLIER: Final = NotOfTopic(100, 150, is_beyond=False, is_topic_recreated=True)


def of_ids(*ids: str) -> tuple[OffsetHistoryRow, ...]:
    """Return commits of one partition, each for a topic of another id."""
    rows = commits(3, 0, 1_000, *range(100, 100 + len(ids)))
    return tuple(row._replace(topic_id=topic_id) for row, topic_id in zip(rows, ids, strict=True))


CASES: Final = (
    Case(
        "beyond the end",
        (HUNDRED,),
        {0: BEYOND},
        (("offset_beyond_end", "warning", "it stands at 100, and the log ends at 50"),),
    ),
    Case(
        "beyond the end, with members",
        (group(1, 0, 1), HUNDRED),
        {0: BEYOND},
        (("offset_beyond_end", "critical", "in partition 0 of topic payments is beyond the end"),),
    ),
    Case(
        "beyond the end of a topic that was made again",
        (HUNDRED,),
        {0: BEYOND._replace(is_topic_recreated=True)},
        (("offset_beyond_end", "warning", "the log ends at 50; the topic was created again"),),
    ),
    Case(
        "beyond the end in one partition, of an earlier topic in another: one finding",
        (HUNDRED, commit(4, 0, 100, partition=1)),
        {0: BEYOND, 1: EARLIER},
        (("offset_beyond_end", "warning", "in partition 0"),),
    ),
    Case(
        "the topic was made again, and has more records than before",
        (HUNDRED,),
        {0: EARLIER},
        (("topic_recreated", "warning", "is of an earlier topic of this name"),),
    ),
    Case(
        "the topic was made again, as commits say, too",
        of_ids("a", "b"),
        {0: EARLIER},
        (("topic_recreated", "warning", "commits for id b"),),
    ),
    Case("the offset is gone", (HUNDRED._replace(end_cause="removed", to_log_offset=4),), {0: BEYOND}, ()),
    Case("ends of other partitions", (HUNDRED,), {1: BEYOND}, ()),
    Case(
        "below 0",
        (commit(3, 0, -1), live(3, None, committed_offset=-1)),
        {},
        (("negative_offset", "warning", "is below 0, which is none: offset -1"),),
    ),
    Case(
        "below 0 in two partitions",
        (
            commit(3, 0, -1),
            commit(4, 0, -1001, partition=1),
            live(3, None, committed_offset=-1),
            live(4, None, committed_offset=-1001, partition=1),
        ),
        {},
        (("negative_offset", "warning", "in partitions 0 to 1 of topic payments are below 0"),),
    ),
    Case(
        "below 0 in a transaction that is not ended",
        (live(3, None, committed_offset=-1, rule="pending"),),
        {},
        (),
    ),
    Case("0", (commit(3, 0, 0), live(3, None, committed_offset=0)), {}, ()),
)
KINDS: Final = ("offset_beyond_end", "topic_recreated", "negative_offset")


@pytest.mark.parametrize("case", CASES, ids=str)
def test_an_offset_for_which_the_topic_has_no_record_is_told_once(case: Case) -> None:
    offsets = {TopicPartition(TOPIC, number): offset for number, offset in case.offsets.items()}
    of_group = found(list(case.rows), not_of_topic={GROUP: offsets})
    told = [each for each in of_group if each.kind in KINDS]
    assert [(each.kind, each.severity) for each in told] == [
        (kind, severity) for kind, severity, _ in case.told
    ]
    assert all(text in each.title for each, (_, _, text) in zip(told, case.told, strict=True))


@pytest.mark.parametrize("engine", [Engine.FAST, Engine.REFERENCE])
def test_a_verdict_begins_with_it_in_both_lanes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, engine: Engine
) -> None:
    monkeypatch.setenv(ENGINE_VARIABLE, engine)
    records = (story.commit("g", "t", 0, 60), story.commit("h", "t", 1, -1))
    write_log(tmp_path / "log", [Placed(number, START, record) for number, record in enumerate(records)])
    ends = tmp_path / "ends.csv"
    ends.write_text(f"topic,partition,at,end_offset\nt,0,{START + 1},50\nt,1,{START + 1},50\n")
    command = ["diagnose", str(tmp_path / "log"), "--ends", str(ends)]
    done = CliRunner().invoke(main, command, catch_exceptions=False)
    assert done.stdout.startswith("This log needs attention: 2 warnings")
    assert "it stands at 60, and the log ends at 50" in done.stdout and "offset -1" in done.stdout
