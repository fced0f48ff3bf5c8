"""Rows of many files come in the order of the log, each once, however the files lie."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from offsets_tool.lake import merge
from offsets_tool.lake.merge import Part, merged, sorted_parts

Place = tuple[int, int]
"""A log offset and a run."""


def batches(places: Sequence[Place], at_once: int) -> Iterator[pa.RecordBatch]:
    for first in range(0, len(places), at_once):
        some = places[first : first + at_once]
        # Each batch with a dictionary of its own, as files have them.
        names = pa.array([f"{offset}-{run}" for offset, run in some]).dictionary_encode()
        yield pa.record_batch(
            {
                "log_offset": pa.array([offset for offset, _ in some], pa.int64()),
                "run": pa.array([run for _, run in some], pa.int64()),
                "name": names,
            }
        )


def read(parts: Sequence[Part]) -> list[Place]:
    found = [row for batch in merged(parts) for row in batch.to_pylist()]
    assert all(row["name"] == f"{row['log_offset']}-{row['run']}" for row in found)
    return [(row["log_offset"], row["run"]) for row in found]


offsets = st.lists(st.integers(0, 30), unique=True, max_size=20).map(sorted)


@given(st.lists(offsets, max_size=5), st.integers(1, 7))
def test_sorted_files(files: list[list[int]], at_once: int) -> None:
    places = [[(offset, run) for offset in each] for run, each in enumerate(files)]
    parts = [
        Part(each[0][0], lambda each=each: batches(each, at_once))  # type: ignore[misc]
        for each in places
        if each
    ]
    assert read(parts) == sorted(place for each in places for place in each)


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(1, 3)), max_size=40), st.integers(1, 7))
def test_a_file_out_of_order(
    tmp_path_factory: pytest.TempPathFactory, places: list[Place], at_once: int
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(merge, "SORTED_AT_ONCE", 16)
        folder: Path = tmp_path_factory.mktemp("parts")
        parts = list(sorted_parts(batches(places, at_once), folder))
        assert len(parts) == len(list(folder.iterdir()))
        assert read(parts) == sorted(places)
