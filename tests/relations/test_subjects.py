"""Numbers of committed offsets: one each, whatever their group, topic and partition, in whatever order they come."""

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from offsets_tool.relations.subjects import Subjects
from offsets_tool.replay.changes import OffsetOf

OFFSETS = st.builds(
    OffsetOf,
    st.sampled_from(("orders", "", "café")),
    st.sampled_from(("a", "b")),
    st.sampled_from((0, 1, (1 << 22) - 1, 1 << 22, (1 << 31) - 1, -1, -(1 << 31))),
)


def rows_of(offsets: list[OffsetOf]) -> pa.RecordBatch:
    """Return rows that name these committed offsets."""
    groups, topics, partitions = zip(*offsets, strict=True)
    return pa.record_batch(
        {
            "group": pa.array(groups, pa.string()).dictionary_encode(),
            "topic": pa.array(topics, pa.string()).dictionary_encode(),
            "partition": pa.array(partitions, pa.int32()),
        }
    )


def held(subjects: Subjects, offsets: list[OffsetOf]) -> list[int]:
    """Number offsets, and hold what their numbers say against them."""
    found = subjects.of(rows_of(offsets), slice(None))
    assert [subjects.offsets[number] for number in found.tolist()] == offsets
    assert [subjects.number(offset) for offset in offsets] == found.tolist()
    topics, partitions = subjects.names_of(found)
    assert list(zip(topics.to_pylist(), partitions.to_pylist(), strict=True)) == [
        each[1:] for each in offsets
    ]
    groups = np.array(subjects.group_of)[found]
    assert subjects.groups.column(groups).to_pylist() == [offset.group for offset in offsets]
    return found.tolist()


@given(st.lists(st.lists(OFFSETS, min_size=1, max_size=20), min_size=1, max_size=4))
def test_each_committed_offset_has_a_number_of_its_own_that_stays(parts: list[list[OffsetOf]]) -> None:
    subjects, known = Subjects(), dict[OffsetOf, int]()
    for offsets in parts:
        for offset, number in zip(offsets, held(subjects, offsets), strict=True):
            assert known.setdefault(offset, number) == number
    assert sorted(known.values()) == list(range(len(known)))


def test_more_groups_than_one_key_has_room_for() -> None:
    subjects, many = Subjects(), (1 << 20) + 2
    names = pa.array(np.arange(many)).cast(pa.string())
    topics = pa.DictionaryArray.from_arrays(np.zeros(many, np.int32), ["t"])
    rows = pa.record_batch(
        {
            "group": names.dictionary_encode(),
            "topic": topics,
            "partition": pa.array(np.full(many, 5, np.int32)),
        }
    )
    assert (subjects.of(rows, slice(None)) == np.arange(many)).all()
    assert held(
        subjects, [OffsetOf("0", "t", 5), OffsetOf(str(many - 1), "t", 5), OffsetOf("0", "t", 6)]
    ) == [
        0,
        many - 1,
        many,
    ]
