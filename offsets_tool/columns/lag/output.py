"""The columns of rows of `lag`, built as they are declared in LagRow."""

from typing import Final

import numpy as np
import pyarrow as pa

from offsets_tool.columns.arrays import Array
from offsets_tool.columns.lag.commits import CommitRows
from offsets_tool.columns.lag.ends_at import EndsAt
from offsets_tool.columns.lag.lifetimes import TopicLifetimes
from offsets_tool.columns.lag.nullable import NullableNumbers
from offsets_tool.columns.lag.numbers import Moments, OffsetLag, TimeLags
from offsets_tool.columns.lag.words import Words, case_numbers
from offsets_tool.lag.rows import LagRow
from offsets_tool.wire.arrow import arrow_schema

ROWS: Final = 1 << 16
"""How many rows a batch has at most."""


def lag_columns(
    rows: pa.RecordBatch, commits: CommitRows, lifetimes: TopicLifetimes, chosen: Array, words: Words
) -> pa.RecordBatch:
    """Return the lag of chosen commits, each at its own moment."""
    moments = Moments(commits.partitions[chosen], commits.offsets[chosen], commits.at[chosen])
    taken = rows.select(["group", "topic", "partition"]).take(pa.array(chosen))
    columns = {
        **dict(zip(taken.schema.names, taken.columns, strict=True)),
        # Usual times are all within the calendar.
        "moment_at": pa.array(moments.at * 1000),
        **measured(lifetimes, moments, words),
    }
    schema = arrow_schema(LagRow)
    return pa.record_batch([columns[field.name].cast(field.type) for field in schema], schema=schema)


def measured(lifetimes: TopicLifetimes, moments: Moments, words: Words) -> dict[str, pa.Array]:
    """Return the lag of commits at moments: all columns but whose it is and `moment_at`."""
    ends = EndsAt.of(lifetimes, moments.partitions, moments.at)
    lag, time = OffsetLag.of(lifetimes, moments, ends), TimeLags.of(lifetimes, moments, ends)
    return {
        "timestamp": pa.array(moments.at),
        "committed_offset": pa.array(moments.offsets),
        "end_offset": _array(ends.estimate),
        "lag": _array(lag.lag),
        "lag_min": pa.array(lag.lag_min),
        "lag_max": _array(lag.lag_max),
        "time_lag_ms": _array(time.lag),
        "time_lag_min_ms": pa.array(time.lag_min),
        "time_lag_max_ms": _array(time.lag_max),
        **words.of(case_numbers(ends, lag, time), lifetimes, moments),
        "log_start_offset": _array(lag.log_start_offset),
        "data_lost": _array(lag.data_lost),
        "beyond_end": pa.array(lag.beyond_end),
        "is_topic_recreated": pa.array(np.zeros(len(moments.at), bool)),
    }


def _array(numbers: NullableNumbers) -> pa.Array:
    return pa.array(numbers.numbers, mask=~numbers.there)
