"""Rows of history: how they begin, follow each other and end, in stories and in what brokers wrote."""

from dataclasses import replace
from itertools import groupby
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, get_args, get_type_hints

import pytest

from offsets_tool.history.rows import (
    AnomalyRow,
    GroupHistoryRow,
    HistoryRow,
    MemberHistoryRow,
    OffsetHistoryRow,
)
from offsets_tool.records.consumer import ConsumerGroupMetadataKey, ConsumerGroupMetadataValue
from offsets_tool.replay.rules import Rules
from offsets_tool.wire.arrow import arrow_schema, record_batch
from tests.corpora import corpora
from tests.history.state_from_rows import changes_of, events_of, folded, rows_of
from tests.replay import story
from tests.replay.story import LOG_PARTITION, StoryEvent, StoryRecord, believed

ROWS = get_args(HistoryRow)


def rows(*events: StoryEvent, rules: Rules = Rules.NEW) -> list[HistoryRow]:
    """The rows of a story, in the order in which they begin; an anomaly last."""
    with TemporaryDirectory() as folder:
        read = story.events_of(story.Story(name="", events=events, new=believed()), Path(folder))
    return sorted(folded(changes_of(read, LOG_PARTITION, rules)), key=_begins)


def _begins(row: HistoryRow) -> int:
    return 1 << 62 if isinstance(row, AnomalyRow) else row.from_log_offset


def offsets(found: list[HistoryRow], *fields: str) -> list[tuple[Any, ...]]:
    names = (
        "committed_offset",
        "is_effective",
        "from_log_offset",
        "to_log_offset",
        "begin_cause",
        "end_cause",
        *fields,
    )
    return [tuple(getattr(row, name) for name in names) for row in found if isinstance(row, OffsetHistoryRow)]


def groups(found: list[HistoryRow]) -> list[tuple[Any, ...]]:
    return [
        (row.kind, row.from_log_offset, row.to_log_offset, row.previous_kind, row.end_cause)
        for row in found
        if isinstance(row, GroupHistoryRow)
    ]


# ---- committed offsets


def test_a_commit_holds_until_the_next_one() -> None:
    found = rows(
        story.commit("g", "t", 0, 10),
        story.commit("g", "t", 0, 25),
        story.commit("g", "t", 0, 5),
        story.tombstone("g", "t", 0),
        story.commit("g", "t", 0, 7),
    )
    assert offsets(found, "delta") == [
        (10, True, 0, 1, "commit", "superseded", None),
        (25, True, 1, 2, "commit", "superseded", 15),
        (5, True, 2, 3, "commit", "deleted", -20),
        (7, True, 4, None, "commit", None, None),
    ]
    (first, *_) = found
    assert isinstance(first, OffsetHistoryRow)
    assert (first.log_partition, first.from_timestamp, first.to_timestamp) == (LOG_PARTITION, 0, 1)


def test_a_transactional_commit_is_two_rows_pending_then_counted() -> None:
    found = rows(
        story.commit("g", "t", 0, 1),
        story.txn_commit(9, "g", "t", 0, 4),
        story.commit_marker(9),
    )
    assert offsets(found, "delta", "producer_id", "commit_log_offset") == [
        (1, True, 0, 2, "commit", "superseded", None, None, 0),
        (4, False, 1, 2, "transaction", "committed", 3, 9, 1),
        (4, True, 2, None, "transaction", None, 3, 9, 1),
    ]


def test_aborted_and_superseded_commits_never_counted_and_are_not_lost() -> None:
    found = rows(
        story.txn_commit(8, "g", "t", 0, 3),
        story.abort_marker(8),
        story.txn_commit(9, "g", "t", 0, 4),
        story.txn_commit(9, "g", "t", 0, 5),
        story.commit("g", "t", 0, 6),
        story.commit_marker(9),
        story.txn_commit(9, "g", "t", 0, 7),
    )
    assert offsets(found) == [
        (3, False, 0, 1, "transaction", "aborted"),
        (4, False, 2, 3, "transaction", "superseded"),
        (5, False, 3, 5, "transaction", "superseded"),
        (6, True, 4, None, "commit", None),
        (7, False, 6, None, "transaction", None),
    ]


def test_a_tombstone_while_the_transaction_is_open_differs_by_rules() -> None:
    events = (story.txn_commit(9, "g", "t", 0, 4), story.tombstone("g", "t", 0), story.commit_marker(9))
    assert offsets(rows(*events, rules=Rules.NEW)) == [(4, False, 0, 1, "transaction", "deleted")]
    found = rows(*events, rules=Rules.CLASSIC)
    assert offsets(found, "noop_tombstone_log_offset") == [
        (4, False, 0, 1, "transaction", "no-op tombstone", None),
        (4, False, 1, 2, "transaction", "committed", 1),
        (4, True, 2, None, "transaction", None, 1),
    ]
    (anomaly,) = (row for row in found if isinstance(row, AnomalyRow))
    assert (anomaly.group, anomaly.about, anomaly.log_offset) == ("g", "t-0", 2)
    assert "had been deleted while its transaction was open" in anomaly.note


@pytest.mark.parametrize("rules", Rules)
def test_offsets_that_go_with_their_group_say_so(rules: Rules) -> None:
    with_group = rows(
        story.group_metadata("g", 1),
        story.commit("g", "t", 0, 10),
        (story.tombstone("g", "t", 0), story.group_tombstone("g")),
        rules=rules,
    )
    assert offsets(with_group)[-1][-1] == "group deleted"
    one_by_one = rows(
        story.group_metadata("g", 1),
        story.commit("g", "t", 0, 10),
        story.tombstone("g", "t", 0),
        story.group_tombstone("g"),
        rules=rules,
    )
    assert offsets(one_by_one)[-1][-1] == "deleted"


def test_an_offset_that_outlives_its_group_is_effective_while_the_group_is_there() -> None:
    events = (
        story.commit("g", "t", 0, 10),
        story.commit("g", "t", 1, 20),
        story.group_metadata("g", 1),
        story.group_tombstone("g"),
        story.commit("g", "t", 1, 21),
    )
    assert offsets(rows(*events, rules=Rules.NEW)) == [
        (10, True, 0, 3, "commit", "hidden"),
        (20, True, 1, 3, "commit", "hidden"),
        (10, False, 3, 4, "hidden", "revealed"),
        (20, False, 3, 4, "hidden", "revealed"),
        (10, True, 4, None, "revealed", None),
        (21, True, 4, None, "commit", None),
    ]
    assert offsets(rows(*events, rules=Rules.CLASSIC)) == [
        (10, True, 0, None, "commit", None),
        (20, True, 1, 4, "commit", "superseded"),
        (21, True, 4, None, "commit", None),
    ]


def test_a_marker_may_commit_to_a_group_that_is_gone() -> None:
    found = rows(
        story.txn_commit(9, "g", "t", 0, 4),
        story.group_metadata("g", 1),
        story.group_tombstone("g"),
        story.commit_marker(9),
        rules=Rules.NEW,
    )
    assert offsets(found) == [
        (4, False, 0, 3, "transaction", "committed"),
        (4, False, 3, None, "hidden", None),
    ]


def test_a_group_that_is_converted_at_once_hides_nothing() -> None:
    found = rows(
        story.group_metadata("g", 1),
        story.commit("g", "t", 0, 10),
        (
            story.group_tombstone("g"),
            story.record_of(ConsumerGroupMetadataKey(group_id="g"), ConsumerGroupMetadataValue(epoch=3)),
        ),
        rules=Rules.NEW,
    )
    assert offsets(found) == [(10, True, 1, None, "commit", None)]


def test_a_simple_group_that_ends_with_its_last_offset_was_not_deleted() -> None:
    found = rows(story.commit("g", "t", 0, 1), story.tombstone("g", "t", 0), rules=Rules.CLASSIC)
    assert offsets(found) == [(1, True, 0, 1, "commit", "deleted")]
    assert groups(found) == [("simple", 0, 1, None, "deleted")]


def test_without_batches_the_time_tells_what_was_written_at_once() -> None:
    """As archives have it, and formats before v2: each record for itself."""
    ends: set[Any] = set()
    for log_partition, events in events_of("4.3.1-kip848").items():
        bare = [replace(event, record=replace(event.record, batch=None)) for event in events]
        expected = folded(changes_of(events, log_partition, Rules.NEW))
        assert folded(changes_of(bare, log_partition, Rules.NEW)) == expected
        ends |= {row.end_cause for row in expected if not isinstance(row, AnomalyRow)}
    assert {"converted", "group deleted", "replaced"} <= ends


def test_a_gap_of_time_is_another_write() -> None:
    found = rows(
        story.group_metadata("g", 1),
        story.group_tombstone("g"),
        story.record_of(ConsumerGroupMetadataKey(group_id="g"), ConsumerGroupMetadataValue(epoch=3)),
    )
    assert groups(found) == [("classic", 0, 1, None, "deleted"), ("consumer", 2, None, None, None)]


# ---- groups and members


def test_what_one_record_does_in_two_steps_is_one_row() -> None:
    """A consumer group's first record makes the group and then says what it is."""
    found = rows(
        story.commit("g", "t", 0, 1),
        story.record_of(ConsumerGroupMetadataKey(group_id="g"), ConsumerGroupMetadataValue(epoch=3)),
    )
    assert groups(found) == [
        ("simple", 0, 1, None, "converted"),
        ("consumer", 1, None, "simple", None),
    ]


def test_upgrade_and_downgrade_are_one_continuous_group() -> None:
    """4.3.1: classic members, upgraded by the first consumer, downgraded when the last one leaves."""
    mine = [row for row in rows_of("4.3.1-kip848") if getattr(row, "group", None) == "sessions-migrate-60"]
    kinds = [row for row in mine if isinstance(row, GroupHistoryRow)]
    assert [(row.kind, row.previous_kind) for row in kinds if row.previous_kind] == [
        ("consumer", "classic"),
        ("classic", "consumer"),
    ]
    assert [row.end_cause for row in kinds if row.end_cause != "changed"] == ["converted", "converted", None]
    upgraded, downgraded = (row.from_log_offset for row in kinds if row.previous_kind)
    stays = sorted(
        (row for row in mine if isinstance(row, MemberHistoryRow) and row.client_id == "cl-1"),
        key=lambda row: row.from_log_offset,
    )
    assert {row.member_id for row in stays} == {"cl-1-96d938ad-171d-499d-b8fe-e5e13ea53c7d"}
    assert [row.end_cause for row in stays if row.end_cause != "changed"] == ["left"]
    assert [kind for kind, _ in groupby(row.group_kind for row in stays)] == [
        "classic",
        "consumer",
        "classic",
    ]
    assert (stays[0].to_log_offset, stays[0].end_cause) == (upgraded - 1, "changed")
    assert downgraded in [row.from_log_offset for row in stays]


def test_a_static_member_is_followed_by_its_instance_id() -> None:
    """4.3.1: `in-a` leaves for a while (epoch -2) and comes back as another member, which has what it had."""
    mine = [
        row
        for row in rows_of("4.3.1-kip848")
        if isinstance(row, MemberHistoryRow) and row.instance_id == "in-a"
    ]
    first, second = dict.fromkeys(row.member_id for row in sorted(mine, key=lambda row: row.from_log_offset))
    ends = {row.member_id: row.end_cause for row in mine if row.end_cause not in ("changed", None)}
    assert ends[first] == "replaced"
    assert second not in ends
    assert -2 in [row.member_epoch for row in mine if row.member_id == first]
    had = {row.assignment for row in mine if row.member_id == first and row.member_epoch == -2}
    has = {row.assignment for row in mine if row.member_id == second and row.assignment}
    assert had & has


def test_a_fenced_static_member_of_a_classic_group_is_replaced() -> None:
    mine = [
        row
        for row in rows_of("4.3.1-classic")
        if isinstance(row, MemberHistoryRow) and row.instance_id == "inst-b"
    ]
    assert [row.end_cause for row in sorted(mine, key=lambda row: row.from_log_offset)].count("replaced") == 2


def test_members_that_leave_and_those_whose_group_is_deleted() -> None:
    a, b = story.member("a"), story.member("b", group_instance_id="i")
    found = rows(
        story.group_metadata("g", 1, a, b),
        story.group_metadata("g", 2, b, story.member("c")),
        story.group_metadata("g", 3, story.member("b2", group_instance_id="i")),
        story.group_tombstone("g"),
    )
    ends = [
        (row.member_id, row.generation, row.from_log_offset, row.to_log_offset, row.end_cause)
        for row in found
        if isinstance(row, MemberHistoryRow)
    ]
    assert ends == [
        ("a", 1, 0, 1, "left"),
        ("b", 1, 0, 2, "replaced"),
        ("c", 2, 1, 2, "left"),
        ("b2", 3, 2, 3, "group deleted"),
    ]


def test_a_classic_coordinator_keeps_a_simple_group_for_the_offsets() -> None:
    found = rows(
        story.group_metadata("g", 1, story.member("a")),
        story.commit("g", "t", 0, 1),
        story.group_tombstone("g"),
        rules=Rules.CLASSIC,
    )
    assert groups(found) == [("classic", 0, 2, None, "deleted"), ("simple", 2, None, "classic", None)]
    assert [row.end_cause for row in found if isinstance(row, MemberHistoryRow)] == ["group deleted"]


def test_a_generation_that_goes_back_is_an_anomaly_of_its_own() -> None:
    found = rows(story.group_metadata("g", 5), story.group_metadata("g", 4))
    (anomaly,) = (row for row in found if isinstance(row, AnomalyRow))
    assert anomaly == AnomalyRow("g", None, LOG_PARTITION, 1, 1, "generation goes back from 5 to 4")


def test_a_record_that_does_not_read_is_an_anomaly_of_no_group() -> None:
    (found,) = rows(StoryRecord(b"\0\x63", b""))
    assert isinstance(found, AnomalyRow)
    assert (found.group, found.about, found.log_offset) == (None, None, 0)


# ---- the rows themselves


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.__name__)
def test_every_column_has_its_sentence_and_a_type_for_the_lake(row: type) -> None:
    schema = arrow_schema(row)
    for field in schema:
        assert field.metadata[b"comment"].endswith(b"."), field.name
    nullable = {field.name for field in schema if field.nullable}
    said = {name for name, hint in get_type_hints(row, include_extras=True).items() if "null" in str(hint)}
    assert nullable <= said


@pytest.mark.parametrize("corpus", [path.name for path in corpora()])
def test_rows_of_every_fixture_fit_their_columns(corpus: str) -> None:
    """And are told apart by the lake's keys."""
    for row_type in ROWS:
        mine = [row for row in rows_of(corpus) if isinstance(row, row_type)]
        batch = record_batch(row_type, mine)
        assert batch.num_rows == len(mine)
        for field, column in zip(batch.schema, batch.columns, strict=True):
            assert field.nullable or column.null_count == 0, field.name
    offset_keys = [
        (row.group, row.topic, row.partition, row.is_effective, row.producer_id, row.from_log_offset)
        for row in rows_of(corpus)
        if isinstance(row, OffsetHistoryRow)
    ]
    group_keys = [
        (row.group, row.from_log_offset) for row in rows_of(corpus) if isinstance(row, GroupHistoryRow)
    ]
    assert len(set(offset_keys)) == len(offset_keys)
    assert len(set(group_keys)) == len(group_keys)
