"""The mixes are what they say: the same for a seed, clean for the decoder, and made of the kinds of record that they promise."""

from collections import Counter
from functools import cache
from itertools import islice
from random import Random

import pytest

from bench.generator.mixes import MIXES
from bench.generator.templates import EPOCH, OFFSET, TEXT, TIME, Template, value
from offsets_tool.blobs import blobs_of
from offsets_tool.events import Event, decode
from offsets_tool.records.classic import GroupMetadataValue
from offsets_tool.records.offsets import OffsetCommitValue
from offsets_tool.rows import LogRecord

BATCHES = 1500


@cache
def events(mix: str) -> list[Event]:
    return [
        decode(
            LogRecord(
                source="",
                log_partition=0,
                log_offset=0,
                timestamp=batch.timestamp,
                key=record.key,
                value=record.value,
                is_control=batch.is_control,
            )
        )
        for batch in islice(MIXES[mix](Random(7)), BATCHES)
        for record in batch.records
    ]


def kinds(mix: str) -> Counter[tuple[str, int | None]]:
    return Counter(
        ("control" if event.key is None else event.key.type.name, event.value_version)
        for event in events(mix)
    )


@pytest.mark.parametrize("mix", MIXES)
def test_a_seed_gives_the_same_batches_always(mix: str) -> None:
    def some(seed: int) -> list[object]:
        return list(islice(MIXES[mix](Random(seed)), 60))

    assert some(3) == some(3)
    assert some(3) != some(4)


@pytest.mark.parametrize("mix", MIXES)
def test_everything_decodes_without_a_problem(mix: str) -> None:
    assert [event.problem for event in events(mix) if event.problem is not None] == []


def test_commits_are_of_version_3_and_nothing_else() -> None:
    assert set(kinds("commits")) == {("OffsetCommit", 3)}
    sizes = [len(batch.records) for batch in islice(MIXES["commits"](Random(7)), BATCHES)]
    assert 3 < sum(sizes) / len(sizes) < 7


def test_large_batches_have_some_sixty_records() -> None:
    sizes = [len(batch.records) for batch in islice(MIXES["large-batches"](Random(7)), 300)]
    assert min(sizes) >= 60 and max(sizes) < 70


def test_rich_commits_have_every_version_tombstones_and_transactions() -> None:
    found = kinds("rich")
    assert {version for name, version in found if name == "OffsetCommit"} == {None, 1, 3, 4}
    batches = list(islice(MIXES["rich"](Random(7)), BATCHES))
    open_producers: set[tuple[int, int]] = set()
    ended = 0
    for batch in batches:
        producer = batch.producer[:2]
        if batch.is_control:
            assert producer in open_producers
            open_producers.remove(producer)
            ended += 1
        elif batch.is_transactional:
            open_producers.add(producer)
    assert ended > 50
    values = [event.value.data for event in events("rich") if event.value]
    metadata = {data.metadata for data in values}
    assert any(not text.isascii() for text in metadata) and len(metadata) > 300
    assert len({data.topic_id for data in values}) > 10


@pytest.mark.parametrize("mix", ["rebalances", "consumer-groups"])
def test_one_record_in_five_is_a_groups(mix: str) -> None:
    found = kinds(mix)
    share = 1 - sum(count for (name, _), count in found.items() if name == "OffsetCommit") / found.total()
    assert 0.19 < share < 0.22


def test_classic_groups_have_ten_members_with_readable_blobs() -> None:
    groups = [
        event.value.data
        for event in events("rebalances")
        if event.value and isinstance(event.value.data, GroupMetadataValue)
    ]
    assert {len(group.members) for group in groups} == {10}
    blobs = [blob for group in groups[:20] for blob in blobs_of(group)]
    assert len(blobs) >= 20 * 20
    assert all(blob.problem is None and blob.data is not None for blob in blobs)
    generations: dict[str, int] = {}
    for group in groups:
        client = group.members[0].client_id
        assert group.generation == generations.get(client, group.generation - 1) + 1
        generations[client] = group.generation


def test_consumer_groups_write_all_their_kinds() -> None:
    names = {name for name, _ in kinds("consumer-groups")}
    assert names == {
        "OffsetCommit",
        "ConsumerGroupMetadata",
        "ConsumerGroupMemberMetadata",
        "ConsumerGroupTargetAssignmentMetadata",
        "ConsumerGroupTargetAssignmentMember",
        "ConsumerGroupCurrentMemberAssignment",
    }


def test_a_filled_template_is_what_the_library_encodes() -> None:
    def commit(offset: int, text: str, time: int) -> bytes:
        return value(4, OffsetCommitValue(offset=offset, metadata=f"<{text}>", commit_timestamp=time))

    template = Template(commit(OFFSET, TEXT, TIME), (OFFSET, TEXT, TIME))
    filled = template.fill((12).to_bytes(8, "big"), b"eleven char", (99).to_bytes(8, "big"))
    assert filled == commit(12, "eleven char", 99)
    with pytest.raises(ValueError, match="no hole"):
        Template(commit(OFFSET, TEXT, TIME), (EPOCH,))
