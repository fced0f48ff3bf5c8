"""Blobs inside members, against bytes that Kafka's clients made, and against everything else: a problem, never a failure."""

import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from offsets_tool.blobs import Blob, blobs_json, blobs_of, consumer_subscription, has_cut_subscription
from offsets_tool.records import classic, consumer, embedded
from offsets_tool.wire import walk
from tests.corpora import VECTORS
from tests.records import subscriptions


def lines(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (VECTORS / name).read_text().splitlines()]


def group_with(
    protocol_type: str, protocol: str | None, subscription: bytes = b"", assignment: bytes = b""
) -> classic.GroupMetadataValue:
    member = classic.MemberMetadata(
        member_id="m",
        client_id="c",
        client_host="/h",
        session_timeout=1,
        subscription=subscription,
        assignment=assignment,
    )
    return classic.GroupMetadataValue(
        protocol_type=protocol_type, generation=1, protocol=protocol, leader="m", members=(member,)
    )


def subscription_with(user_data: bytes) -> bytes:
    message = embedded.ConsumerProtocolSubscription(topics=("t",), user_data=user_data)
    return b"\x00\x00" + walk.encode(message, 0)


def assignment_with(user_data: bytes) -> bytes:
    message = embedded.ConsumerProtocolAssignment(assigned_partitions=(), user_data=user_data)
    return b"\x00\x00" + walk.encode(message, 0)


@pytest.mark.parametrize(
    "vector", lines("consumer_protocol.jsonl"), ids=lambda v: f"{v['kind']} {v['version']}"
)
def test_consumer_protocol_as_kafka_reads_it(vector: dict[str, Any]) -> None:
    data = bytes.fromhex(vector["hex"])
    fields = {vector["kind"]: data}
    blob = next(blobs_of(group_with("consumer", "range", **fields)))
    assert (blob.path, blob.version, blob.problem) == (
        f"members[0].{vector['kind']}",
        vector["version"],
        None,
    )
    assert blob.json()["data"] == vector["json"]
    assert walk.encode(blob.data, vector["version"]) == data[2:]


@pytest.mark.parametrize(
    "vector", lines("embedded_blobs.jsonl"), ids=lambda v: f"{v['kind']} {v.get('version')}"
)
def test_other_protocols_round_trip(vector: dict[str, Any]) -> None:
    data, kind = bytes.fromhex(vector["hex"]), vector["kind"]
    blobs = list(blobs_of(_around(kind, data)))
    assert not any(blob.problem for blob in blobs)
    encoded = [walk.encode(blob.data, blob.version or 0) for blob in blobs]
    assert any(data[prefix:] in encoded for prefix in (0, 2, 4))
    if "version" in vector:
        assert blobs[-1].version == vector["version"]


def _around(kind: str, data: bytes) -> classic.GroupMetadataValue:
    """Return a group with a member that has the blob in the field of its kind."""
    if kind.startswith("connect_metadata"):
        return group_with("connect", "sessioned", subscription=data)
    if kind.startswith("connect"):
        return group_with("connect", "sessioned", assignment=data)
    if kind == "streams_assignment_info":
        return group_with("consumer", "stream", assignment=assignment_with(data))
    protocol = (
        "stream"
        if kind.startswith("streams")
        else kind.split("_", maxsplit=1)[0].replace("cooperative", "cooperative-sticky")
    )
    return group_with("consumer", protocol, subscription=subscription_with(data))


STREAMS_11 = "streams_assignment_info"


def test_streams_assignment_says_what_kafkas_reader_says() -> None:
    vector = next(v for v in lines("embedded_blobs.jsonl") if v["kind"] == STREAMS_11 and v["version"] == 11)
    info = list(blobs_of(_around(STREAMS_11, bytes.fromhex(vector["hex"]))))[-1].json()["data"]
    assert [f"{t['subtopology']}_{t['partition']}" for t in info["activeTasks"]] == ["0_1"]
    assert info["topicDictionary"] == [{"index": 0, "topic": "t1"}, {"index": 1, "topic": "t3"}]
    assert info["indexedPartitionsByHost"][0]["host"] == "localhost"
    assert (info["errCode"], info["nextRebalanceMs"]) == (2, 1700000000000)


def test_a_version_from_the_future_is_read_as_the_newest_known() -> None:
    data = (
        b"\x00\x09"
        + walk.encode(embedded.ConsumerProtocolSubscription(topics=("t",), rack_id="r"), 3)
        + b"new"
    )
    blob = next(blobs_of(group_with("consumer", "range", subscription=data)))
    assert blob.version == 9 and blob.data.rack_id == "r"
    assert blob.problem == "3 trailing byte(s)"


@pytest.mark.parametrize("case", subscriptions.TABLE, ids=lambda case: case.name)
def test_subscriptions_are_read_as_brokers_read_them(case: subscriptions.Subscribed) -> None:
    message = consumer_subscription(case.blob)
    assert (None if message is None else message.topics) == case.topics


@given(st.integers(-32768, 32767), st.integers(0, 3), st.data())
def test_a_subscription_cut_behind_its_user_data_still_says_its_topics(
    version: int, layout: int, made: st.DataObject
) -> None:
    whole = subscriptions.said(version, layout)
    least = len(subscriptions.said(0, 0))
    blob = whole[: made.draw(st.integers(least, len(whole)))]
    message = consumer_subscription(blob)
    assert message is not None and message.topics == subscriptions.WHOLE.topics
    as_it_says = version >= 0 and len(blob) >= len(subscriptions.said(0, min(version, 3)))
    assert has_cut_subscription(blob) == (not as_it_says)
    assert as_it_says or message.owned_partitions == ()


def test_a_cut_subscription_shows_what_brokers_read_and_what_is_wrong() -> None:
    blob = next(blobs_of(group_with("consumer", "range", subscription=subscriptions.said(1, 0))))
    assert blob.json() == {
        "path": "members[0].subscription",
        "format": "ConsumerProtocolSubscription",
        "version": 1,
        "data": {"topics": ["orders", "pay"], "userData": "AQI="},
        "problem": blob.problem,
    }
    assert (blob.problem or "").startswith("read as version 0, as brokers do: ")


def test_classic_members_of_consumer_groups_carry_subscriptions() -> None:
    offered = consumer.ClassicProtocol(
        name="sticky", metadata=subscription_with(b"\x00\x00\x00\x00\x00\x00\x00\x05")
    )
    member = consumer.ConsumerGroupMemberMetadataValue(
        instance_id=None,
        rack_id=None,
        client_id="c",
        client_host="/h",
        subscribed_topic_names=(),
        subscribed_topic_regex=None,
        server_assignor=None,
        classic_member_metadata=consumer.ClassicMemberMetadata(
            session_timeout_ms=1, supported_protocols=(offered,)
        ),
    )
    outer, inner = blobs_of(member)
    assert outer.path == "classicMemberMetadata.supportedProtocols[0].metadata"
    assert (inner.path, inner.format, inner.data.generation) == (
        f"{outer.path}.userData",
        "StickyUserData",
        5,
    )


OTHERS = (
    ("sr", "v0", b'{"version":1,"master":null}', "SchemaRegistry", {"version": 1, "master": None}, None),
    ("sr", "v0", b"{", "SchemaRegistry", None, "not JSON"),
    ("custom", "p", b"\x01\x02", "opaque", None, None),
    ("consumer", "range", b"\x00\x00\x00", "ConsumerProtocolSubscription", None, "topics"),
    ("consumer", "range", b"\xff\xff\x00", "ConsumerProtocolSubscription", None, "unknown version -1"),
    ("connect", "default", b"\x00\x07", "ConnectWorkerMetadata", None, "unknown version 7"),
)


@pytest.mark.parametrize(("type_", "protocol", "data", "format_", "value", "problem"), OTHERS)
def test_other_formats_and_refusals(
    type_: str, protocol: str, data: bytes, format_: str, value: object, problem: str | None
) -> None:
    (blob,) = blobs_of(group_with(type_, protocol, subscription=data))
    assert (blob.format, blob.size) == (format_, len(data))
    assert blob.json()["data"] == value
    assert (blob.problem or "").startswith(problem or "") and bool(blob.problem) == bool(problem)


@pytest.mark.parametrize("protocol_type", ["consumer", "connect", "sr", "other"])
def test_blobs_that_repeat_have_the_json_that_each_has(protocol_type: str) -> None:
    """Read once, and shown under the path of every member that has it, and under another protocol in its way."""
    data = bytes.fromhex("0001 00000001 0001 74 00000003 000000".replace(" ", "") + "01")
    member = classic.MemberMetadata(
        member_id="m", client_id="c", client_host="/h", session_timeout=1, subscription=data, assignment=data
    )
    group = group_with(protocol_type, "sticky", subscription=data)
    for protocol in ("sticky", "range", None):
        value = replace(group, protocol=protocol, members=(member, *group.members, member))
        wanted = [blob.json() for blob in blobs_of(value)]
        assert len(wanted) >= 5 and blobs_json(value) == blobs_json(value) == wanted


def test_empty_blobs_are_nothing() -> None:
    assert list(blobs_of(group_with("consumer", "range"))) == []


@given(
    st.sampled_from(["consumer", "connect", "sr", "other"]),
    st.sampled_from([None, "range", "sticky", "cooperative-sticky", "stream", "sessioned"]),
    st.binary(max_size=60),
    st.binary(max_size=60),
)
def test_no_bytes_ever_fail(type_: str, protocol: str | None, first: bytes, second: bytes) -> None:
    for data in (first, subscription_with(first), b"\x00\x01" + first):
        blobs = list(
            blobs_of(group_with(type_, protocol, subscription=data, assignment=assignment_with(second)))
        )
        assert all(isinstance(blob, Blob) and isinstance(blob.json(), dict) for blob in blobs)
        assert blobs
