"""Who owned a partition when it was committed: by what the clients themselves said in each fixture's story."""

import json
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from offsets_tool.history.history import History
from offsets_tool.history.owners import NameOf
from offsets_tool.history.rows import OffsetHistoryRow
from offsets_tool.records import consumer, embedded, streams
from offsets_tool.replay.coordinator import Coordinator
from offsets_tool.replay.rules import Rules
from offsets_tool.wire.json import uuid_text
from offsets_tool.wire.walk import encode
from tests.corpora import corpora, folder_of
from tests.history.state_from_rows import changes_of, folded, rows_of
from tests.replay import story
from tests.replay.story import StoryEvent

ASSIGNED = b"\0\0" + encode(
    embedded.ConsumerProtocolAssignment(
        assigned_partitions=(embedded.TopicPartitionNames(topic="t", partitions=(0,)),), user_data=None
    ),
    0,
)
CLOCKS_MS = 1500
"""How far a client's note of its commit may lie from the broker's."""


def commits(corpus: str) -> list[dict[str, Any]]:
    """Return the steps of a story in which clients committed and named their member id and generation or epoch."""
    manifest = folder_of(corpus) / "manifest.json"
    if not manifest.exists():
        return []
    story = json.loads(manifest.read_text())["story"]
    return [told for told in story if told["what"] == "commitSync" and told.get("member_id")]


TOLD = {corpus: told for corpus in [path.name for path in corpora()] if (told := commits(corpus))}


def owners(
    corpus: str, told: dict[str, Any], topic: str, partition: int, commit: dict[str, Any]
) -> list[tuple[Any, ...]]:
    place = (told["group"], topic, partition, commit["offset"], commit["metadata"])
    return [
        (row.member_id, row.generation if row.group_kind == "classic" else row.member_epoch)
        for row in rows_of(corpus)
        if isinstance(row, OffsetHistoryRow)
        and row.is_effective
        and (row.group, row.topic, row.partition, row.committed_offset, row.metadata) == place
        and abs(row.commit_timestamp - told["at_ms"]) < CLOCKS_MS
    ]


@pytest.mark.parametrize("corpus", [corpus for corpus in TOLD if "-compaction" not in corpus])
def test_the_owner_is_the_member_that_committed(corpus: str) -> None:
    """Compacted logs are left out: the record of that generation is gone, and nothing is known instead."""
    checked = 0
    for told in TOLD[corpus]:
        for topic, partitions in told["offsets"].items():
            for partition, commit in partitions.items():
                found = owners(corpus, told, topic, int(partition), commit)
                assert (told["member_id"], told["generation"]) in found, (told, topic, partition)
                checked += 1
    assert checked


def test_nobody_owned_what_was_committed_without_an_assignment() -> None:
    rows = [row for row in rows_of("4.3.1-classic") if isinstance(row, OffsetHistoryRow)]
    simple = [row for row in rows if row.group_kind == "simple"]
    assert simple
    assert all((row.member_id, row.client_id, row.member_epoch) == (None, None, None) for row in simple)


def test_behind_a_gap_nobody_is_known_not_to_be_the_owner(tmp_path: Path) -> None:
    """The generation of that time may be what is missing; a generation that is there is the latest before."""
    told = story.Story(
        name="",
        events=(
            story.commit("g", "t", 0, 1),
            story.commit("g", "t", 0, 2),
            story.group_metadata("g", 1, story.member("m", assignment=ASSIGNED)),
            story.commit("g", "t", 0, 3),
            story.commit("g", "t", 1, 3),
        ),
        new=story.believed(),
    )
    events = story.events_of(told, tmp_path)
    for missing, known in (
        (None, [True, True, True, True]),
        (0, [False, True, False]),
        (2, [True, True, False, False]),
    ):
        coordinator, history = Coordinator(0), History()
        rows: list[Any] = []
        for event in events:
            if event.record.log_offset != missing:
                history.observe_record(event.record.log_offset)
                rows += [
                    row for change in coordinator.replay(event) for row in history.observe_change(change)
                ]
        rows += [*history.flush(), *history.open_rows()]
        commits = sorted(
            (row for row in rows if isinstance(row, OffsetHistoryRow)), key=lambda row: row.from_log_offset
        )
        assert [row.is_owner_known for row in commits] == known, missing
        assert [row.member_id for row in commits][-2] == (None if missing == 2 else "m")


TORN = b"\0\7torn"


@pytest.mark.parametrize(
    ("assignments", "protocol_type", "owner"),
    [
        ((TORN,), "consumer", (None, False)),
        ((b"",), "consumer", (None, True)),
        ((TORN,), "connect", (None, True)),
        ((TORN, ASSIGNED), "consumer", ("m1", True)),
    ],
)
def test_what_an_assignment_gives_that_does_not_read_is_not_known(
    tmp_path: Path, assignments: tuple[bytes, ...], protocol_type: str, owner: tuple[str | None, bool]
) -> None:
    """It may be this partition; of a member beside it that owns it, all is known."""
    members = (story.member(f"m{number}", assignment=of) for number, of in enumerate(assignments))
    group = story.group_metadata("g", 3, *members, protocol_type=protocol_type)
    told = story.Story(name="", events=(group, story.commit("g", "t", 0, 1)), new=story.believed())
    coordinator = Coordinator(0)
    changes = (change for event in story.events_of(told, tmp_path) for change in coordinator.replay(event))
    (row,) = (row for row in folded(changes) if isinstance(row, OffsetHistoryRow))
    assert (row.member_id, row.is_owner_known) == owner


def test_streams_tasks_own_the_partitions_of_their_topics() -> None:
    """Tasks are of a subtopology: its source and repartition topics, in the topology's own record."""
    rows = [
        row
        for row in rows_of("4.3.1-newgroups")
        if isinstance(row, OffsetHistoryRow) and row.group_kind == "streams"
    ]
    assert rows
    assert all(row.member_id and row.member_epoch and row.client_id for row in rows)
    assert len({row.member_id for row in rows}) > 1


# ---- what an id without a name hides

ORDERS, AGAIN = UUID(int=7), UUID(int=8)
KEYS = {"group_id": "g", "member_id": "m"}


def owned_by_consumer(
    folder: Path, name_of: NameOf, *commits: StoryEvent, **assigned: Any
) -> list[OffsetHistoryRow]:
    """Commits while member `m` of a consumer group holds partitions by topic id."""
    value = consumer.ConsumerGroupCurrentMemberAssignmentValue(
        member_epoch=4,
        previous_member_epoch=3,
        state=1,
        **({"assigned_partitions": (), "partitions_pending_revocation": ()} | assigned),
    )
    key = consumer.ConsumerGroupCurrentMemberAssignmentKey(**KEYS)
    told = story.Story(name="", events=(story.record_of(key, value), *commits), new=story.believed())
    changes = changes_of(story.events_of(told, folder), story.LOG_PARTITION, Rules.NEW)
    return [row for row in folded(changes, History(name_of)) if isinstance(row, OffsetHistoryRow)]


def held(topic_id: UUID, *partitions: int) -> consumer.TopicPartitions:
    return consumer.TopicPartitions(topic_id=topic_id, partitions=partitions)


def test_an_id_without_a_name_may_be_the_owners(tmp_path: Path) -> None:
    commits = (
        story.commit("g", "orders", 0, 1),
        story.commit("g", "orders", 1, 1),
        story.commit("g", "orders", 2, 1, topic_id=ORDERS),
        story.commit("g", "other", 2, 1, topic_id=AGAIN),
    )
    by_id = owned_by_consumer(tmp_path, uuid_text, *commits, assigned_partitions=(held(ORDERS, 0, 2),))
    assert [(row.member_id, row.is_owner_known) for row in by_id] == [
        (None, False),
        (None, True),
        ("m", True),
        (None, True),
    ]
    by_name = owned_by_consumer(
        tmp_path, lambda _: "orders", *commits[:2], assigned_partitions=(held(ORDERS, 0, 2),)
    )
    assert [(row.member_id, row.member_epoch, row.is_owner_known) for row in by_name] == [
        ("m", 4, True),
        (None, None, True),
    ]


def test_what_is_to_be_given_up_is_still_owned(tmp_path: Path) -> None:
    (row,) = owned_by_consumer(
        tmp_path,
        lambda _: "orders",
        story.commit("g", "orders", 3, 1),
        partitions_pending_revocation=(held(ORDERS, 3),),
    )
    assert (row.group_kind, row.group_epoch, row.member_id) == ("consumer", 0, "m")


def test_a_topic_made_anew_is_told_by_its_id(tmp_path: Path) -> None:
    """Two ids of one name: who holds the old one does not own what was committed for the new one."""
    value = {"assigned_partitions": (held(ORDERS, 0),)}
    commits = (
        story.commit("g", "orders", 0, 1, topic_id=AGAIN),
        story.commit("g", "orders", 0, 1, topic_id=ORDERS),
    )
    rows = owned_by_consumer(tmp_path, lambda _: "orders", *commits, **value)
    assert [row.member_id for row in rows] == [None, "m"]


@pytest.mark.parametrize(("regex", "known"), [((), True), (("orders.*",), False)])
def test_a_task_owns_the_topics_of_its_subtopology(
    tmp_path: Path, regex: tuple[str, ...], known: bool
) -> None:
    repartition = streams.InternalTopicInfo(
        name="again", partitions=2, replication_factor=1, topic_configs=()
    )
    subtopology = streams.Subtopology(
        subtopology_id="0",
        source_topics=("orders",),
        source_topic_regex=regex,
        state_changelog_topics=(),
        repartition_sink_topics=(),
        repartition_source_topics=(repartition,),
        copartition_groups=(),
    )
    topology = streams.StreamsGroupTopologyValue(epoch=1, subtopologies=(subtopology,))
    none = dict.fromkeys(
        (
            "standby_tasks",
            "warmup_tasks",
            "active_tasks_pending_revocation",
            "standby_tasks_pending_revocation",
            "warmup_tasks_pending_revocation",
        ),
        (),
    )
    current = streams.StreamsGroupCurrentMemberAssignmentValue(
        member_epoch=2,
        previous_member_epoch=1,
        state=1,
        active_tasks=(streams.TaskIds(subtopology_id="0", partitions=(1,)),),
        **none,
    )
    told = story.Story(
        name="",
        events=(
            story.record_of(streams.StreamsGroupTopologyKey(group_id="g"), topology),
            story.record_of(streams.StreamsGroupCurrentMemberAssignmentKey(**KEYS), current),
            story.commit("g", "orders", 1, 1),
            story.commit("g", "again", 1, 1),
            story.commit("g", "elsewhere", 1, 1),
        ),
        new=story.believed(),
    )
    rows = folded(changes_of(story.events_of(told, tmp_path), 0, Rules.NEW))
    found = [
        (row.topic, row.member_id, row.is_owner_known) for row in rows if isinstance(row, OffsetHistoryRow)
    ]
    assert found == [("orders", "m", True), ("again", "m", True), ("elsewhere", None, known)]
