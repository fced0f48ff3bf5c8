"""Records that were deleted before the group had committed them: told where the start of a partition's log is known."""

from offsets_tool.findings.context import Overtaken
from offsets_tool.replay.changes import TopicPartition
from offsets_tool.review.review import review_of
from tests.corpora import FIXTURES
from tests.findings.made import GROUP, TOPIC, commit, found, group

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
