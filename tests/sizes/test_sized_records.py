"""A record's own bytes are those it has in logs of real brokers; shares of a batch add up to it."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from offsets_tool.log.discover import find_segments
from offsets_tool.log.segment import read_segment
from offsets_tool.rows import BatchRead, Codec
from offsets_tool.sizes.sized_records import GatheredRecords, Sized, shared
from tests.corpora import FIXTURES


def columns_of(read: BatchRead) -> Sized:
    """Return a batch as columns, all of its keys with one number."""
    gathered = GatheredRecords(lambda key: 0)
    gathered.add(read)
    return gathered.take()


@pytest.mark.parametrize(
    "corpus",
    ["0.8.2.2-commits", "0.10.2.2-mix", "1.1.1-connect", "2.8.2-compaction", "4.1.2-codecs", "4.3.1-txn"],
)
def test_records_of_an_uncompressed_batch_are_what_its_bytes_are(corpus: str) -> None:
    magics = set()
    for segment in find_segments([FIXTURES / "corpora" / corpus]):
        for item in read_segment(segment):
            if isinstance(item, BatchRead) and item.records and item.batch.codec is Codec.NONE:
                (batch, records) = columns_of(item)
                assert batch.overhead + records.own.sum() == item.batch.size
                magics.add(item.batch.magic)
    assert magics


def test_records_of_a_wrapper_are_what_its_content_is() -> None:
    wrapped = 0
    for segment in find_segments([FIXTURES / "corpora/0.8.2.2-gzip", FIXTURES / "corpora/0.10.2.2-lz4"]):
        for item in read_segment(segment):
            if isinstance(item, BatchRead) and item.batch.codec is not Codec.NONE:
                wrapped += 1
                (batch, records) = columns_of(item)
                assert (records.own >= 26).all()
                assert batch.overhead < item.batch.size
    assert wrapped > 10


@given(st.integers(0, 1 << 31), st.lists(st.integers(1, 1 << 31), min_size=1, max_size=30))
def test_shares_add_up_and_none_is_more_than_one_off(total: int, weights: list[int]) -> None:
    parts = shared(np.array([total]), np.array(weights), np.zeros(len(weights), np.int64)).tolist()
    assert sum(parts) == total
    whole = sum(weights)
    assert all(
        abs(part * whole - total * weight) < whole for part, weight in zip(parts, weights, strict=True)
    )
