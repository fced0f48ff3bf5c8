"""Values of groups that go on are replayed at once; only what they cannot tell alone is replayed record by record."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from offsets_tool.events import Event
from offsets_tool.records.kinds import COMMITS
from offsets_tool.relations.groups import GroupInputs, GroupReplay, NoQuestions
from offsets_tool.relations.offsets import Holdings, pieces_of
from offsets_tool.relations.writes import WriteReader
from offsets_tool.replay.coordinator import Coordinator
from offsets_tool.replay.rules import Rules
from offsets_tool.rows import LogRecord
from tests.relations.test_histories import generated, rows_of


def one_at_a_time(rows: pa.RecordBatch, *, is_for_state: bool) -> list[Event]:
    """Return the records of groups among rows that are replayed one at a time."""
    events: list[Event] = []
    reader = WriteReader()
    writes, _ = reader.read(rows, np.ones(rows.num_rows, bool))
    pieces = pieces_of(writes)
    holdings = Holdings(writes.group[pieces.commit], pieces.begin, pieces.end, len(writes.action) + 1)
    replay = GroupReplay(Coordinator(3, Rules.NEW), events.append, is_for_state=is_for_state)
    chunk = replay.read(GroupInputs(rows, writes, reader.subjects.groups, holdings))
    replay.replay(chunk, NoQuestions(), None)
    return events


@pytest.mark.parametrize("is_for_state", [False, True])
@pytest.mark.parametrize("mix", ["rebalances", "consumer-groups"])
def test_groups_that_only_go_on_are_replayed_at_once(mix: str, is_for_state: bool, tmp_path: Path) -> None:
    records = generated(mix, 1 << 18, tmp_path)
    assert sum(is_of_group(record) for record in records) > 40
    assert one_at_a_time(rows_of(records), is_for_state=is_for_state) == []


def is_of_group(record: LogRecord) -> bool:
    return record.key is not None and int.from_bytes(record.key[:2], "big") not in COMMITS


def test_a_group_is_replayed_alone_where_its_write_deletes_it(tmp_path: Path) -> None:
    """A tombstone between values of one time: what ended is told by all of them."""
    records = [record for record in generated("consumer-groups", 1 << 17, tmp_path) if is_of_group(record)]
    last = records[-1]
    assert one_at_a_time(rows_of(records), is_for_state=False) == []
    tombstone = replace(last, value=None, log_offset=last.log_offset + 1)
    alone = one_at_a_time(rows_of([*records, tombstone]), is_for_state=False)
    assert [event.record.log_offset for event in alone][-1] == tombstone.log_offset
    assert {event.group for event in alone} == {alone[-1].group}
    assert len(alone) > 1
