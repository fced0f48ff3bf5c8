"""Names of topic ids derived from subscriptions: certain ones are found, and nothing that is not certain is said."""

from collections.abc import Callable, Iterable
from pathlib import Path
from uuid import UUID

import pytest
from click.testing import CliRunner
from crc32c import crc32c

from offsets_tool.cli import main
from offsets_tool.events import decode
from offsets_tool.records import consumer
from offsets_tool.replay.topic_candidates import TopicCandidates, derive_names
from offsets_tool.replay.topic_names import TopicNames
from offsets_tool.rows import LogRecord
from offsets_tool.wire.json import parse_uuid, uuid_text
from tests.corpora import corpora
from tests.history.state_from_rows import events_of
from tests.replay.story import StoryRecord, commit, record_of, tombstone_of
from tests.replay.story_segments import in_order, segment, write_log
from tests.replay.test_topic_names import owning_orders

A, B, C = (UUID(int=number << 100) for number in (1, 2, 3))
MEMBER, GROUP = {"group_id": "g", "member_id": "m"}, {"group_id": "g"}


def subscribes(*topics: str, regex: str | None = None, member: str = "m") -> StoryRecord:
    asked = MEMBER_VALUE | {"subscribed_topic_names": topics, "subscribed_topic_regex": regex}
    key = consumer.ConsumerGroupMemberMetadataKey(group_id="g", member_id=member)
    return record_of(key, consumer.ConsumerGroupMemberMetadataValue(**asked))


MEMBER_VALUE = {
    "instance_id": None,
    "rack_id": None,
    "client_id": "c",
    "client_host": "/h",
    "rebalance_timeout_ms": 1,
    "server_assignor": None,
    "classic_member_metadata": None,
}


def is_to_read(*ids: UUID, member: str = "m") -> StoryRecord:
    parts = tuple(consumer.TopicPartition(topic_id=id_, partitions=(0, 1)) for id_ in ids)
    key = consumer.ConsumerGroupTargetAssignmentMemberKey(group_id="g", member_id=member)
    return record_of(key, consumer.ConsumerGroupTargetAssignmentMemberValue(topic_partitions=parts))


def resolves(regex: str, *topics: str) -> StoryRecord:
    key = consumer.ConsumerGroupRegularExpressionKey(group_id="g", regular_expression=regex)
    return record_of(key, consumer.ConsumerGroupRegularExpressionValue(topics=topics, version=1, timestamp=1))


COMPLETE = record_of(
    consumer.ConsumerGroupTargetAssignmentMetadataKey(**GROUP),
    consumer.ConsumerGroupTargetAssignmentMetadataValue(assignment_epoch=1),
)
EPOCH = record_of(
    consumer.ConsumerGroupMetadataKey(**GROUP), consumer.ConsumerGroupMetadataValue(epoch=1, metadata_hash=0)
)
NEXT_EPOCH = record_of(
    consumer.ConsumerGroupMetadataKey(**GROUP), consumer.ConsumerGroupMetadataValue(epoch=2, metadata_hash=0)
)
ONE = (subscribes("a"), is_to_read(A), COMPLETE)
TWO = (subscribes("a", "b"), is_to_read(A, B), COMPLETE)

CASES: dict[str, tuple[tuple[StoryRecord, ...], dict[UUID, str]]] = {
    "one topic, one id": (ONE, {A: "a"}),
    "two topics, one id": ((subscribes("a", "b"), is_to_read(A), COMPLETE), {}),
    "two topics, two ids": (TWO, {}),
    "an assignment that was never complete": (ONE[:2], {}),
    "one is known by elimination": ((*TWO, subscribes("a"), is_to_read(A), COMPLETE), {A: "a", B: "b"}),
    "what two subscriptions share": (
        (subscribes("a", "b"), is_to_read(A), COMPLETE, subscribes("b", "c"), COMPLETE),
        {A: "b"},
    ),
    "two members, one topic each": (
        (
            subscribes("a"),
            subscribes("b", member="n"),
            is_to_read(A),
            is_to_read(B, member="n"),
            COMPLETE,
        ),
        {A: "a", B: "b"},
    ),
    "a member that left": (
        (*ONE, tombstone_of(consumer.ConsumerGroupMemberMetadataKey(**MEMBER)), COMPLETE),
        {A: "a"},
    ),
    "a member whose record is gone": ((is_to_read(A), COMPLETE), {}),
    "a topic made anew": ((*ONE, is_to_read(B), COMPLETE), {A: "a", B: "a"}),
    "a regular expression": (
        (subscribes(regex="a.*"), resolves("a.*", "a"), is_to_read(A), COMPLETE),
        {A: "a"},
    ),
    "one that nothing resolves": ((subscribes("a", regex="b.*"), is_to_read(A), COMPLETE), {}),
    "names and a regular expression": (
        (subscribes("a", regex="b.*"), resolves("b.*", "b"), is_to_read(A), COMPLETE),
        {},
    ),
    "an assignment of an earlier epoch": ((subscribes("a"), is_to_read(A), NEXT_EPOCH, COMPLETE), {}),
    "a group whose record is gone": (
        (tombstone_of(consumer.ConsumerGroupMetadataKey(**GROUP)), subscribes("a"), is_to_read(A), COMPLETE),
        {},
    ),
    "what cannot be": ((subscribes("a"), is_to_read(A, B), COMPLETE, subscribes("b"), COMPLETE), {}),
}


def observed(telling: Iterable[StoryRecord], candidates: TopicCandidates | None = None) -> TopicCandidates:
    candidates = candidates or TopicCandidates()
    for at, each in enumerate([EPOCH, *telling]):
        record = LogRecord(
            source="s", log_partition=0, log_offset=at, timestamp=at, key=each.key, value=each.value
        )
        candidates.observe(decode(record))
    return candidates


@pytest.mark.parametrize("case", CASES)
def test_what_subscriptions_say_of_ids(case: str) -> None:
    telling, expected = CASES[case]
    once = observed(telling)
    assert derive_names(once.snapshots(), {}) == expected
    assert derive_names(observed(telling, once).snapshots(), {}) == expected, "replayed again"


def test_names_that_records_say_leave_others_fewer_topics() -> None:
    assert derive_names(observed(TWO).snapshots(), {A: "a"}) == {B: "b"}
    assert derive_names(observed(TWO).snapshots(), {C: "a"}) == {}


def test_a_damaged_partition_tells_nothing() -> None:
    candidates = observed(ONE)
    candidates.distrust(0)
    assert derive_names(candidates.snapshots(), {}) == {}


@pytest.mark.parametrize(
    "corpus", [path.name for path in corpora() if path.name.startswith("4.") or "kip848" in path.name]
)
def test_of_real_logs_every_name_that_is_derived_is_the_one_that_records_say(corpus: str) -> None:
    names, candidates = TopicNames(), TopicCandidates()
    for events in events_of(corpus).values():
        for event in events:
            names.learn(event)
            candidates.observe(event)
    derived = derive_names(candidates.snapshots(), {})
    ids = {id_ for snapshot in candidates.snapshots() for id_, _ in snapshot}
    assert derived == {id_: names.name(id_) for id_ in ids}
    assert not names.asked_unnamed


def shown(folder: Path, *more: str) -> tuple[str, str]:
    done = CliRunner().invoke(main, ["describe", str(folder), "--group", "g", "--format", "csv", *more])
    assert done.exit_code == 0, done.output
    return done.stdout, done.stderr


def test_what_is_shown_says_how_it_is_known(tmp_path: Path) -> None:
    there, committed, ours = subscribes("orders"), commit("g", "orders", 1, 5), owning(A)
    write_log(tmp_path, in_order(EPOCH, there, committed, is_to_read(A), COMPLETE, ours))
    rows, notes = shown(tmp_path)
    assert uuid_text(A) not in rows and "orders,1" in rows
    assert (
        f"derived from what members subscribe to, as no record says them: {uuid_text(A)} is orders" in notes
    )
    write_log(tmp_path, in_order(there, committed, ours))
    rows, notes = shown(tmp_path)
    assert uuid_text(A) in rows and "orders,1" in rows
    assert f"no record says the name of topic id(s) {uuid_text(A)}" in notes
    rows, notes = shown(tmp_path, "--topic-id", f"{uuid_text(A)}=orders")
    assert uuid_text(A) not in rows + notes


def test_a_name_that_the_evidence_has_otherwise_is_said(tmp_path: Path) -> None:
    """A partition is not here twice, by a name that was mistyped and by its own, without a note."""
    committed = commit("g", "orders", 1, 5)
    derived = (EPOCH, subscribes("orders"), committed, is_to_read(A), COMPLETE, owning(A))
    write_log(tmp_path, in_order(*derived))
    rows, notes = shown(tmp_path, "--topic-id", f"{uuid_text(A)}=order")
    assert "order,1" in rows and "orders,1" in rows
    assert "=order: what members subscribe to leaves only orders" in notes
    write_log(tmp_path, in_order(*derived, commit("g", "orders", 2, 5, topic_id=A)))
    rows, notes = shown(tmp_path, "--topic-id", f"{uuid_text(A)}=order")
    assert "order,1" not in rows and "=order: records say orders; it is not used" in notes
    assert "--topic-id" not in shown(tmp_path, "--topic-id", f"{uuid_text(A)}=orders")[1]


def test_an_id_has_one_name(tmp_path: Path) -> None:
    write_log(tmp_path, in_order(*owning_orders()))
    asked = ["describe", str(tmp_path), "--group", "g"]
    twice = [word for name in ("a", "b") for word in ("--topic-id", f"{uuid_text(A)}={name}")]
    done = CliRunner().invoke(main, asked + twice)
    assert done.exit_code == 2 and "cannot be both a and b" in done.output


def with_a_wrong_checksum(batch: bytes) -> bytes:
    return batch[:-1] + bytes([batch[-1] ^ 1])


def with_a_wrong_place(batch: bytes) -> bytes:
    return batch[:3] + bytes([batch[3] ^ 1]) + batch[4:]


def with_another_byte_at_its_end(batch: bytes) -> bytes:
    """Return a batch with another last byte and a right checksum, whose records do not parse."""
    content = batch[21:-1] + b"\x7f"
    return batch[:17] + crc32c(content).to_bytes(4, "big") + content


@pytest.mark.parametrize("harm", [with_a_wrong_checksum, with_a_wrong_place, with_another_byte_at_its_end])
def test_nothing_is_derived_where_a_record_is_lacking(harm: Callable[[bytes], bytes], tmp_path: Path) -> None:
    """It may have been another subscription, as it is here: the id is not that of the topic before."""
    before, other, after = (
        (EPOCH, subscribes("a"), commit("g", "b", 1, 5)),
        subscribes("b"),
        (is_to_read(B), COMPLETE, owning(B)),
    )
    placed = in_order(*before, other, *after)
    log = next(write_log(tmp_path, placed).glob("*.log"))
    start, end = (len(segment(placed[:count])) for count in (3, 4))
    whole = log.read_bytes()
    assert "is b (--topic-id" in shown(tmp_path)[1]
    log.write_bytes(whole[:start] + harm(whole[start:end]) + whole[end:])
    rows, notes = shown(tmp_path)
    assert (
        uuid_text(B) in rows
        and "names derived" not in notes
        and f"no record says the name of topic id(s) {uuid_text(B)}" in notes
    )


def owning(topic_id: UUID) -> StoryRecord:
    """Return the record of a member that owns a partition of one topic."""
    parts = consumer.TopicPartitions(topic_id=topic_id, partitions=(1,), assignment_epochs=None)
    value = consumer.ConsumerGroupCurrentMemberAssignmentValue(
        member_epoch=1,
        previous_member_epoch=0,
        state=0,
        assigned_partitions=(parts,),
        partitions_pending_revocation=(),
    )
    return record_of(consumer.ConsumerGroupCurrentMemberAssignmentKey(**MEMBER), value)


@pytest.mark.parametrize("text", ["orders", "x=orders", f"{uuid_text(A)}=", f"{uuid_text(A)}", f"{A}=orders"])
def test_a_pair_that_is_none_is_refused(text: str, tmp_path: Path) -> None:
    write_log(tmp_path, in_order(*owning_orders()))
    done = CliRunner().invoke(main, ["describe", str(tmp_path), "--group", "g", "--topic-id", text])
    assert done.exit_code == 2
    assert "is not ID=NAME" in done.output


@pytest.mark.parametrize(
    "text", ["", "a", "!" * 22, uuid_text(A) + "=", uuid_text(A)[:-1], uuid_text(A)[:-1] + "B"]
)
def test_text_that_shows_no_id(text: str) -> None:
    assert parse_uuid(text) is None
    assert parse_uuid(uuid_text(A)) == A
