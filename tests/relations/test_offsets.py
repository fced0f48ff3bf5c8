"""Open rows of history: those that a chunk does not touch stay, and a table between two replays says all of them."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from offsets_tool.columns.arrays import Array
from offsets_tool.relations.offsets import NEVER, Begun, OpenCommits, Past, begun, order_of, pieces_of
from offsets_tool.relations.writes import SAID, OffsetAction, WriteReader, Writes
from offsets_tool.rows import NO_PRODUCER_ID, LogRecord
from tests.relations.test_histories import rows_of
from tests.replay.hostile_sequences import logs

COMMITS = st.lists(st.tuples(st.integers(0, 4), st.integers(NO_PRODUCER_ID, 2)), max_size=6)
"""The offset of each commit, and the producer that has it pending."""
TAKEN = st.tuples(st.sets(st.integers(0, 4)), st.sets(st.integers(0, 2)))


@given(st.lists(st.integers(0, 1 << 40) | st.integers(0, 3)))
def test_numbers_in_order(numbers: list[int]) -> None:
    array = np.array(numbers, np.int64)
    assert order_of(array).tolist() == np.argsort(array, kind="stable").tolist()


@given(st.lists(st.tuples(COMMITS, TAKEN), max_size=6))
def test_rows_are_taken_by_offset_and_producer(
    steps: list[tuple[list[tuple[int, int]], tuple[set[int], set[int]]]],
) -> None:
    rows, model, log_offset = OpenCommits(), dict[int, tuple[int, int]](), 0
    for commits, (subjects, producers) in steps:
        offsets = range(log_offset, log_offset + len(commits))
        rows.put(_begun(offsets, commits))
        model |= dict(zip(offsets, commits, strict=True))
        log_offset += len(commits)
        touched = subjects | {subject for subject, producer in model.values() if producer in producers}
        is_touched = np.array([*(subject in subjects for subject in range(5)), False])
        taken = rows.taken(is_touched, np.array([*producers], np.int64))
        wanted = [offset for offset, (subject, _) in model.items() if subject in touched]
        assert taken.rows.commit_log_offset.tolist() == wanted
        model = {offset: commit for offset, commit in model.items() if offset not in wanted}
    assert rows.all().rows.commit_log_offset.tolist() == [*model]


def _begun(log_offsets: range, commits: list[tuple[int, int]]) -> Begun:
    lines: Array = np.zeros((len(SAID) + len(Past._fields), len(commits)), np.int64)
    rows, past = Writes(*lines[: len(SAID)]), Past(*lines[len(SAID) :])
    rows.commit_log_offset[:] = log_offsets
    rows.subject[:] = [subject for subject, _ in commits]
    rows.producer[:] = [producer for _, producer in commits]
    rows.action[:] = np.where(rows.producer == NO_PRODUCER_ID, OffsetAction.COMMIT, OffsetAction.PENDING)
    return Begun(rows, past)


@given(logs())
def test_a_table_says_all_of_open_rows(log: list[LogRecord]) -> None:
    if not log:
        return
    rows, reader, other = rows_of(log), WriteReader(), WriteReader()
    writes, _ = reader.read(rows, np.zeros(rows.num_rows, bool))
    past, pieces = Past(*np.zeros((len(Past._fields), 0), np.int64)), pieces_of(writes)
    held, again = OpenCommits(), OpenCommits()
    held.put(begun(writes, past, pieces.taken(pieces.end == NEVER), np.arange(rows.num_rows)))
    again.put_table(held.table(reader), other)
    assert again.table(other).to_pylist() == held.table(reader).to_pylist()
    assert again.all().rows.commit_log_offset.tolist() == held.all().rows.commit_log_offset.tolist()
