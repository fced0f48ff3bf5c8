"""Happenings: what each change is called, with what was before and after, and who came and went."""

from pathlib import Path
from typing import Any

import pytest

from offsets_tool.history.change_log import Happening, HappeningKind, batch_happenings
from offsets_tool.history.history import History
from offsets_tool.replay.changes import Transaction
from offsets_tool.replay.rules import Rules
from tests.corpora import corpora
from tests.history.state_from_rows import changes_of, events_of
from tests.replay import story
from tests.replay.story import LOG_PARTITION, StoryEvent, believed


def happenings_in(folder: Path, *events: StoryEvent, rules: Rules = Rules.NEW) -> list[Happening]:
    read = story.events_of(story.Story(name="", events=events, new=believed()), folder)
    return happenings(changes_of(read, LOG_PARTITION, rules))


def happenings(changes: Any) -> list[Happening]:
    history = History()
    found = [each for change in changes for each in batch_happenings(history.row_changes(change))]
    return [*found, *batch_happenings(history.flush_row_changes())]


def of_kind(found: list[Happening], kind: HappeningKind, *fields: str) -> list[tuple[Any, ...]]:
    return [
        (each.log_offset, each.what, *(getattr(each, name) for name in fields))
        for each in found
        if each.kind is kind
    ]


def test_offsets(tmp_path: Path) -> None:
    found = happenings_in(
        tmp_path,
        story.commit("g", "t", 0, 10),
        story.commit("g", "t", 0, 4),
        story.txn_commit(9, "g", "t", 0, 6),
        story.commit_marker(9),
        story.txn_commit(9, "g", "t", 0, 7),
        story.abort_marker(9),
        story.txn_commit(9, "g", "t", 0, 8),
        story.commit("g", "t", 0, 20),
        story.commit_marker(9),
        story.tombstone("g", "t", 0),
        story.commit("g", "t", 0, 1),
        (story.tombstone("g", "t", 0), story.group_tombstone("g")),
    )
    assert of_kind(found, HappeningKind.OFFSETS, "delta", "producer_id") == [
        (0, "commit", None, None),
        (1, "rewind", -6, None),
        (2, "pending commit", 2, 9),
        (3, "transaction committed", 2, 9),
        (4, "pending commit", 1, 9),
        (5, "transaction aborted", 1, 9),
        (6, "pending commit", 2, 9),
        (7, "commit", 14, None),
        (8, "transaction superseded", 2, 9),
        (9, "tombstone", 14, None),
        (10, "commit", None, None),
        (11, "deleted with the group", None, None),
    ]
    rewind = found[2]
    assert rewind.before is not None and rewind.after is not None
    assert (rewind.before["committed_offset"], rewind.after["committed_offset"]) == (10, 4)
    assert (rewind.timestamp, rewind.log_partition, rewind.topic, rewind.partition) == (
        1,
        LOG_PARTITION,
        "t",
        0,
    )
    assert of_kind(found, HappeningKind.GROUPS) == [(0, "created"), (12, "deleted")]


def test_a_rewind_by_a_transaction_is_a_rewind(tmp_path: Path) -> None:
    found = happenings_in(
        tmp_path, story.commit("g", "t", 0, 9), story.txn_commit(9, "g", "t", 0, 2), story.commit_marker(9)
    )
    assert of_kind(found, HappeningKind.OFFSETS, "producer_id")[-1] == (2, "rewind", 9)


def test_generations_say_who_came_and_went(tmp_path: Path) -> None:
    a, b, c = map(story.member, "abc")
    found = happenings_in(
        tmp_path,
        story.group_metadata("g", 0, protocol_type=""),
        story.group_metadata("g", 1, a, b),
        story.group_metadata("g", 2, b, c),
        story.group_metadata("g", 2, b, c, current_state_timestamp=1),
        story.group_metadata("g", 3),
    )
    assert of_kind(found, HappeningKind.GROUPS, "joined", "left") == [
        (0, "created", (), ()),
        (1, "generation 1, state Stable, leader change, members 2", ("a", "b"), ()),
        (2, "generation 2, leader change", ("c",), ("a",)),
        (3, "rewritten", (), ()),
        (4, "generation 3, state Empty, no leader, members 0", (), ("b", "c")),
    ]
    generation = found[4]
    assert generation.before == {"generation": 1, "leader": "a"}
    assert generation.after == {"generation": 2, "leader": "b"}
    assert of_kind(found, HappeningKind.MEMBERS, "member_id", "generation") == [
        (1, "joined", "a", 1),
        (1, "joined", "b", 1),
        (2, "left", "a", 1),
        (2, "joined", "c", 2),
        (4, "left", "b", 1),
        (4, "left", "c", 2),
    ]


def test_an_anomaly_is_told_with_its_evidence(tmp_path: Path) -> None:
    found = happenings_in(
        tmp_path,
        story.txn_commit(9, "g", "t", 0, 4),
        story.tombstone("g", "t", 0),
        story.commit_marker(9),
        rules=Rules.CLASSIC,
    )
    (anomaly,) = (each for each in found if each.kind is HappeningKind.ANOMALIES)
    assert (anomaly.log_offset, anomaly.group, anomaly.topic, anomaly.partition) == (2, "g", "t", 0)
    assert anomaly.note
    assert [each.what for each in found if each.kind is HappeningKind.OFFSETS] == [
        "pending commit",
        "no-op tombstone",
        "transaction committed",
    ]


def test_conversions_are_one_event(tmp_path: Path) -> None:
    found = happenings(
        change for events in events_of("4.3.1-kip848").values() for change in changes_of(events)
    )
    mine = [each for each in found if each.group == "sessions-migrate-60"]
    conversions = [each for each in mine if each.what.startswith("conversion")]
    assert [(each.kind, each.what) for each in conversions if each.kind is HappeningKind.GROUPS] == [
        (HappeningKind.GROUPS, "conversion from classic to consumer"),
        (HappeningKind.GROUPS, "conversion from consumer to classic"),
    ]
    up = next(each for each in conversions if each.kind is HappeningKind.GROUPS)
    assert up.before is not None and up.after is not None
    assert (up.before["generation"], up.after["epoch"]) == (1, 0)
    # cl-1 goes through both, cl-2 had left before the downgrade.
    assert len([each for each in conversions if each.kind is HappeningKind.MEMBERS]) == 3
    assert not [each for each in mine if each.what in ("deleted", "group deleted")]
    words = {each.what for each in found}
    assert {"away", "replaced", "left", "leaving, assignment", "target assignment"} <= words


@pytest.mark.parametrize("corpus", [path.name for path in corpora()])
def test_nothing_is_untold(corpus: str) -> None:
    """Every record that changed an offset, a group or a member has a line, in the order of the log."""
    for log_partition, events in events_of(corpus).items():
        changes = changes_of(events, log_partition)
        found = happenings(changes)
        places = [each.log_offset for each in found]
        assert places == sorted(places)
        changed = {
            change.log_offset
            for change in changes
            if not isinstance(change.before or change.after, Transaction)
        }
        resting = {
            change.log_offset for change in changes if change.after is None and change.kind == "deleted"
        }
        assert set(places) <= changed
        assert changed - set(places) <= resting
