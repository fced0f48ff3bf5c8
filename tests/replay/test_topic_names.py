"""Names of topic ids: from any record of the evidence, of whatever time, then from data directories; else the id itself."""

import json
from functools import partial
from pathlib import Path
from uuid import UUID

import pytest
from click.testing import CliRunner

from offsets_tool.cli import main
from offsets_tool.records import consumer, share
from offsets_tool.replay import topic_names
from offsets_tool.replay.topic_names import TopicNames
from offsets_tool.wire.json import uuid_text
from tests.replay.story import StoryRecord, commit, record_of, tombstone_of
from tests.replay.story_segments import in_order, write_log

ORDERS = UUID(int=0x1234567890ABCDEF1234567890ABCDEF)
KEY = {"group_id": "g", "member_id": "m"}


def owning_orders() -> tuple[StoryRecord, ...]:
    """A consumer group whose member owns orders-0 and orders-1, by the topic's id."""
    member = consumer.ConsumerGroupMemberMetadataValue(
        instance_id=None,
        rack_id=None,
        client_id="c",
        client_host="/h",
        subscribed_topic_names=("orders",),
        subscribed_topic_regex=None,
        rebalance_timeout_ms=1,
        server_assignor=None,
        classic_member_metadata=None,
    )
    owned = consumer.TopicPartitions(topic_id=ORDERS, partitions=(1, 0), assignment_epochs=None)
    current = consumer.ConsumerGroupCurrentMemberAssignmentValue(
        member_epoch=1,
        previous_member_epoch=0,
        state=0,
        assigned_partitions=(owned,),
        partitions_pending_revocation=(),
    )
    return (
        record_of(consumer.ConsumerGroupMemberMetadataKey(**KEY), member),
        record_of(consumer.ConsumerGroupCurrentMemberAssignmentKey(**KEY), current),
    )


def assignment(*args: object) -> list[str]:
    result = CliRunner().invoke(main, ["describe", *map(str, args), "--group", "g", "--members"])
    assert result.exit_code == 0, result.output
    shown: list[str] = json.loads(result.stdout)["assignment"]
    return shown


def test_an_id_that_nothing_names_is_shown_as_kafka_writes_it(tmp_path: Path) -> None:
    write_log(tmp_path, in_order(*owning_orders()))
    assert assignment(tmp_path) == [f"{uuid_text(ORDERS)}-0", f"{uuid_text(ORDERS)}-1"]


def test_a_commit_names_it_from_another_partition_and_behind_the_moment(tmp_path: Path) -> None:
    write_log(tmp_path, in_order(*owning_orders()))
    write_log(tmp_path, in_order(commit("other", "orders", 5, 1, topic_id=ORDERS)), partition=4)
    assert assignment(tmp_path, "--as-of", "3:2") == ["orders-0", "orders-1"]


def test_subscription_metadata_names_it_also_when_deleted_since(tmp_path: Path) -> None:
    topic = consumer.TopicMetadata(
        topic_id=ORDERS, topic_name="orders", num_partitions=2, partition_metadata=()
    )
    key = consumer.ConsumerGroupPartitionMetadataKey(group_id="g")
    value = consumer.ConsumerGroupPartitionMetadataValue(topics=(topic,))
    write_log(tmp_path, in_order(*owning_orders(), record_of(key, value), tombstone_of(key)))
    assert assignment(tmp_path) == ["orders-0", "orders-1"]


def test_a_share_groups_partitions_name_it(tmp_path: Path) -> None:
    value = share.ShareGroupStatePartitionMetadataValue(
        initializing_topics=(),
        initialized_topics=(),
        deleting_topics=(share.TopicInfo(topic_id=ORDERS, topic_name="orders"),),
    )
    named = record_of(share.ShareGroupStatePartitionMetadataKey(group_id="s"), value)
    write_log(tmp_path, in_order(*owning_orders(), named))
    assert assignment(tmp_path) == ["orders-0", "orders-1"]


def test_a_data_directory_names_it(tmp_path: Path) -> None:
    write_log(tmp_path, in_order(*owning_orders()))
    topic = tmp_path / "orders-0"
    topic.mkdir()
    (topic / "00000000000000000000.log").touch()
    (topic / "partition.metadata").write_text(f"version: 0\ntopic_id: {uuid_text(ORDERS)}\n")
    assert assignment(tmp_path) == ["orders-0", "orders-1"]


def test_what_is_learned_later_is_learned_before_anything_is_asked_or_is_too_much(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    names, other = TopicNames(), UUID(int=7)
    names.learn_later(lambda: names.learn_one(ORDERS, "orders"), 100)
    names.learn_later(lambda: names.learn_one(other, "before"), 100)
    names.learn_one(other, "after")
    assert (names.name(ORDERS), names.name(other)) == ("orders", "after")
    monkeypatch.setattr(topic_names, "MOST_LATER", 150)
    learned: list[int] = []
    for number in (1, 2, 3):
        names.learn_later(partial(learned.append, number), 100)
    assert learned == [1, 2]
