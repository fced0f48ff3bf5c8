"""Who owned a partition when it was committed: by what the clients themselves said in each fixture's story."""

import json
from typing import Any

import pytest

from offsets_tool.replay.history_rows import OffsetHistoryRow
from tests.cases import FIXTURES
from tests.replay.rebuilt import PARTITIONS, rows_of

CLOCKS_MS = 1500
"""How far a client's note of its commit may lie from the broker's."""


def commits(corpus: str) -> list[dict[str, Any]]:
    """What clients committed and said with it: their member id, and their generation or member epoch."""
    manifest = FIXTURES / "corpora" / corpus / "manifest.json"
    if not manifest.exists():
        return []
    story = json.loads(manifest.read_text())["story"]
    return [told for told in story if told["what"] == "commitSync" and told.get("member_id")]


TOLD = {
    corpus: told for corpus in sorted({path.parts[-3] for path in PARTITIONS}) if (told := commits(corpus))
}


def owners(
    corpus: str, told: dict[str, Any], topic: str, partition: int, commit: dict[str, Any]
) -> list[tuple[Any, ...]]:
    place = (told["group"], topic, partition, commit["offset"], commit["metadata"])
    return [
        (row.member_id, row.generation if row.group_kind == "classic" else row.member_epoch)
        for row in rows_of(corpus)
        if isinstance(row, OffsetHistoryRow)
        and row.counted
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


def test_a_compacted_generation_leaves_no_owner() -> None:
    rows = [row for row in rows_of("3.7.2-compaction") if isinstance(row, OffsetHistoryRow)]
    (warm,) = {row.member_id for row in rows if row.group == "metrics-warm-5"}
    assert warm is None


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
