"""The rules by which offsets expire, release by release, with Kafka's own tests as cases under their names."""

from struct import pack
from typing import Any

import pytest

from offsets_tool.events import Value
from offsets_tool.expiry.rules import Expiry, Policy, Rule, default_retention_ms, expiry_of, is_subscribed
from offsets_tool.records.consumer import (
    ConsumerGroupMemberMetadataValue,
    ConsumerGroupRegularExpressionValue,
)
from offsets_tool.records.streams import InternalTopicInfo, StreamsGroupTopologyValue, Subtopology
from offsets_tool.replay.changes import CommittedOffset, Group, GroupKind, GroupState, Member
from tests.records import subscriptions
from tests.replay.story import member

START = 1_000_000
RETENTION = 60_000
OLD, KIP_211, KIP_496, NEW = (2, 0, 1), (2, 1, 1), (2, 8, 2), (4, 3, 1)


def policy(release: tuple[int, ...] = NEW) -> Policy:
    return Policy(release, RETENTION)


def commit(at: int = START, expire: int = -1) -> CommittedOffset:
    return CommittedOffset(37, -1, "", at, expire, None, 5)


def group(kind: GroupKind = GroupKind.CLASSIC, members: int = 0, **more: Any) -> Group:
    state = GroupState.STABLE if members else GroupState.EMPTY
    said = {"protocol_type": "consumer", "protocol": "range" if members else None}
    said = said if kind is GroupKind.CLASSIC else {}
    return Group("g", kind, state, 0, members, **(said | more))


SIMPLE = group(GroupKind.SIMPLE)


def is_expired(expiry: Expiry, now: int) -> bool:
    """Return whether the broker's check at this time removes an offset with this expiry."""
    return expiry.at is not None and now >= expiry.at


# ---- Kafka's own cases


def test_is_offset_expired() -> None:
    """OffsetExpirationConditionImplTest.testIsOffsetExpired."""
    explicit = expiry_of(commit(500, 1_500), SIMPLE, False, False, Policy(NEW, 500))
    assert [is_expired(explicit, now) for now in (1_500, 499)] == [True, False]
    by_retention = expiry_of(commit(500), SIMPLE, False, False, Policy(NEW, 500))
    assert [is_expired(by_retention, now) for now in (1_000, 999)] == [True, False]


@pytest.mark.parametrize("kind", [GroupKind.CONSUMER, GroupKind.STREAMS, GroupKind.CLASSIC])
def test_cleanup_expired_offsets(kind: GroupKind) -> None:
    """OffsetMetadataManagerTest.testCleanupExpiredOffsets: of what is not subscribed, what was committed a retention ago."""
    active, now = group(kind, members=1), START + RETENTION
    subscribed = expiry_of(commit(), active, True, False, policy())
    unsubscribed = expiry_of(commit(), active, False, False, policy())
    later = expiry_of(commit(START + 500), active, False, False, policy())
    assert (subscribed.at, subscribed.rule) == (None, Rule.SUBSCRIBED)
    assert [is_expired(each, now) for each in (subscribed, unsubscribed, later)] == [False, True, False]
    assert is_expired(later, now + 500)
    assert unsubscribed == Expiry(now, Rule.UNSUBSCRIBED_TOPIC, START)


def test_cleanup_expired_offsets_with_pending_transactional_offsets() -> None:
    """OffsetMetadataManagerTest.testCleanupExpiredOffsetsWithPendingTransactionalOffsets, ...Only: kept where one is pending."""
    assert expiry_of(commit(), SIMPLE, False, True, policy()) == Expiry(None, Rule.PENDING)
    assert is_expired(expiry_of(commit(), SIMPLE, False, False, policy()), START + RETENTION)


def test_cleanup_expired_offsets_group_does_not_exist() -> None:
    """OffsetMetadataManagerTest.testCleanupExpiredOffsetsGroupDoesNotExist: nobody asks for offsets without a group."""
    assert expiry_of(commit(), None, None, False, policy()) == Expiry(None, Rule.NO_GROUP)


def test_cleanup_expired_offsets_empty_offset_expiration_condition() -> None:
    """OffsetMetadataManagerTest.testCleanupExpiredOffsetsEmptyOffsetExpirationCondition: share groups, and members of connect."""
    assert expiry_of(commit(), group(GroupKind.SHARE), None, False, policy()).rule is Rule.SHARE_GROUP
    connect = group(members=1, protocol_type="connect")
    assert expiry_of(commit(), connect, None, False, policy()) == Expiry(None, Rule.HAS_MEMBERS)


def test_offset_expiration_semantics() -> None:
    """GroupMetadataManagerTest.testOffsetExpirationSemantics: own times and retention, first with a member, then Empty."""
    offsets = [commit(START, START + 1), commit(START, START + 3), commit(START)]
    active = [expiry_of(each, group(members=1), True, False, policy(KIP_496)) for each in offsets]
    assert not any(is_expired(each, START + 2) for each in active)
    emptied = group(current_state_timestamp=START + 2)
    found = [expiry_of(each, emptied, False, False, policy(KIP_496)) for each in offsets]
    assert [is_expired(each, START + 2) for each in found] == [True, False, False]
    assert [is_expired(each, START + 4) for each in found] == [True, True, False]
    end = START + 2 + RETENTION
    assert [is_expired(found[2], now) for now in (end - 1, end)] == [False, True]
    assert found[2] == Expiry(end, Rule.RETENTION_SINCE_EMPTY, START + 2)


def test_offset_expiration_of_simple_consumer() -> None:
    """GroupMetadataManagerTest.testOffsetExpirationOfSimpleConsumer."""
    found = expiry_of(commit(), SIMPLE, False, False, policy(KIP_496))
    assert found == Expiry(START + RETENTION, Rule.RETENTION_SINCE_COMMIT, START)
    assert [is_expired(found, START + RETENTION + more) for more in (-1, 1)] == [False, True]


def test_offset_expiration_of_active_group_semantics() -> None:
    """GroupMetadataManagerTest.testOffsetExpirationOfActiveGroupSemantics: what nobody reads goes, without members all."""
    now = START + RETENTION + 2
    both = group(members=1)
    assert not is_expired(expiry_of(commit(), both, True, False, policy(KIP_496)), now)
    assert is_expired(expiry_of(commit(), both, False, False, policy(KIP_496)), now)
    emptied = group(current_state_timestamp=now)
    assert [
        is_expired(expiry_of(commit(), emptied, False, False, policy(KIP_496)), now + more)
        for more in (0, RETENTION)
    ] == [
        False,
        True,
    ]


def test_expire_offset() -> None:
    """GroupMetadataManagerTest.testExpireOffset, testExpireGroupWithOffsetsOnly: two own times, one of them over."""
    found = [expiry_of(commit(START, START + more), SIMPLE, False, False, policy(KIP_211)) for more in (1, 3)]
    assert [is_expired(each, START + 2) for each in found] == [True, False]
    assert [is_expired(each, START + 4) for each in found] == [True, True]
    assert {each.rule for each in found} == {Rule.EXPIRE_TIMESTAMP}


def test_expire_offsets_with_active_group() -> None:
    """GroupMetadataManagerTest.testExpireOffsetsWithActiveGroup of 2.0: a member does not keep them."""
    found = expiry_of(commit(START, START + 1), group(members=1), True, False, policy(OLD))
    assert is_expired(found, START + 2)


def test_load_offset_with_explicit_retention() -> None:
    """GroupMetadataManagerTest.testLoadOffsetWithExplicitRetention: a value that has its own time keeps it."""
    assert expiry_of(commit(START, START + 7), SIMPLE, False, False, policy()).at == START + 7


# ---- release by release


@pytest.mark.parametrize(
    ("release", "first"),
    [((0, 8, 2, 2), 1), ((0, 9, 0, 1), 1), (OLD, 1), (KIP_211, 0), (NEW, 0)],
)
def test_retention_is_strict_until_2_0(release: tuple[int, ...], first: int) -> None:
    """0.8.2 to 2.0: later than retention; since 2.1 from that millisecond on. -1 is no time of its own (KAFKA-8069)."""
    assert expiry_of(commit(), SIMPLE, False, False, policy(release)).at == START + RETENTION + first


@pytest.mark.parametrize("members", [0, 1])
def test_2_0_goes_by_the_time_in_the_value(members: int) -> None:
    of_the_broker = expiry_of(
        commit(START, START + RETENTION), group(members=members), True, False, policy(OLD)
    )
    of_the_client = expiry_of(commit(START, START - 5), group(members=members), True, False, policy(OLD))
    assert of_the_broker == Expiry(START + RETENTION + 1, Rule.RETENTION_SINCE_COMMIT, START)
    assert of_the_client == Expiry(START - 4, Rule.EXPIRE_TIMESTAMP)


def test_0_8_2_knows_no_other_time_than_the_commits() -> None:
    assert (
        expiry_of(commit(START, START + 5), SIMPLE, None, False, policy((0, 8, 2))).at
        == START + RETENTION + 1
    )


@pytest.mark.parametrize(
    ("release", "rule"),
    [(KIP_211, Rule.HAS_MEMBERS), ((2, 4), Rule.UNSUBSCRIBED_TOPIC), (NEW, Rule.UNSUBSCRIBED_TOPIC)],
)
def test_what_an_active_group_no_longer_reads_goes_since_2_4(release: tuple[int, ...], rule: Rule) -> None:
    """KIP-496."""
    assert expiry_of(commit(), group(members=1), False, False, policy(release)).rule is rule


def test_an_empty_group_without_the_time_of_its_state_goes_by_the_commit() -> None:
    """GroupMetadata values before version 2, loaded by 2.1 and later."""
    found = expiry_of(commit(), group(current_state_timestamp=None), False, False, policy(KIP_211))
    assert found == Expiry(START + RETENTION, Rule.RETENTION_SINCE_COMMIT, START)


def test_a_group_that_never_had_a_protocol_is_simple() -> None:
    """The new coordinator writes generation 0 and no protocol type at the first join."""
    first = group(protocol_type=None, current_state_timestamp=START + 9)
    assert expiry_of(commit(), first, None, False, policy()).at == START + RETENTION


@pytest.mark.parametrize("kind", [GroupKind.CONSUMER, GroupKind.STREAMS])
def test_groups_of_the_new_protocols_go_by_the_commit_when_empty(kind: GroupKind) -> None:
    found = expiry_of(commit(), group(kind), False, False, policy())
    assert found == Expiry(START + RETENTION, Rule.RETENTION_SINCE_COMMIT, START)


def test_default_retention() -> None:
    days = [default_retention_ms(release) // 86_400_000 for release in ((0, 10, 2), (1, 1), (2, 0), (4, 0))]
    assert days == [1, 1, 7, 7]


# ---- which topics a group reads


def classic_member(*topics: str, blob: bytes | None = None) -> Member:
    return Member(member("m", subscription=subscribed_to(*topics) if blob is None else blob))


def subscribed_to(*topics: str) -> bytes:
    """Return a ConsumerProtocolSubscription of version 0 to these topics."""
    names = b"".join(pack(">h", len(topic)) + topic.encode() for topic in topics)
    return pack(">hi", 0, len(topics)) + names + pack(">i", -1)


def consumer_member(*topics: str) -> Member:
    value = ConsumerGroupMemberMetadataValue(
        instance_id=None,
        rack_id=None,
        client_id="c",
        client_host="/h",
        subscribed_topic_names=topics,
        subscribed_topic_regex="t.*",
        rebalance_timeout_ms=1,
        server_assignor=None,
        classic_member_metadata=None,
    )
    return Member(Value(0, "", value))


def test_classic_members_say_what_they_read() -> None:
    active, members = group(members=2), {"a": classic_member("t"), "b": classic_member("u")}
    assert [is_subscribed(active, members, topic) for topic in "tuv"] == [True, True, False]
    assert is_subscribed(group(members=2, protocol_type="connect"), members, "t") is None
    broken = {"a": classic_member(blob=b"\x00")}
    assert is_subscribed(group(members=1), broken, "t") is None
    assert is_subscribed(group(), {}, "t") is False


@pytest.mark.parametrize("case", subscriptions.TABLE, ids=lambda case: case.name)
def test_classic_members_read_what_brokers_read_of_their_subscription(case: subscriptions.Subscribed) -> None:
    """GroupMetadata.computeSubscribedTopics (2.4 to 3.9), ClassicGroup.computeSubscribedTopics."""
    members = {"a": classic_member(blob=case.blob), "b": classic_member("fee")}
    found = {topic: is_subscribed(group(members=2), members, topic) for topic in ("orders", "fee", "x")}
    if case.topics is None:
        assert found == dict.fromkeys(found)
    else:
        assert found == {"orders": "orders" in case.topics, "fee": True, "x": False}


def test_without_a_protocol_nothing_is_known_of_what_members_read() -> None:
    members = {"a": classic_member("t")}
    assert is_subscribed(group(members=1, protocol=None), members, "t") is None


def test_consumer_groups_read_what_their_expressions_were_resolved_to() -> None:
    resolved = Value(0, "", ConsumerGroupRegularExpressionValue(topics=("t1",), version=1, timestamp=1))
    active = group(GroupKind.CONSUMER, members=1, expressions=(("t.*", resolved),))
    assert [is_subscribed(active, {"a": consumer_member("u")}, topic) for topic in ("u", "t1", "t2")] == [
        True,
        True,
        False,
    ]


def test_streams_groups_read_sources_and_repartition_topics() -> None:
    made = InternalTopicInfo(name="r", partitions=0, replication_factor=1, topic_configs=())
    part = Subtopology(
        subtopology_id="0",
        source_topics=("t",),
        source_topic_regex=(),
        state_changelog_topics=(made,),
        repartition_sink_topics=("sink",),
        repartition_source_topics=(made,),
        copartition_groups=(),
    )
    active = group(
        GroupKind.STREAMS,
        members=1,
        topology=Value(0, "", StreamsGroupTopologyValue(epoch=1, subtopologies=(part,))),
    )
    assert [is_subscribed(active, {}, topic) for topic in ("t", "r", "sink")] == [True, True, False]
    assert is_subscribed(active._replace(topology=None), {}, "t") is False
    assert is_subscribed(active._replace(members=0), {}, "t") is False
