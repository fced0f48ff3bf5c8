"""Rows built through a draft are the rows."""

import pickle
from dataclasses import FrozenInstanceError

import pytest

from offsets_tool.log.batches.draft import draft_of
from offsets_tool.rows import LogRecord


def test_a_draft_becomes_the_row_itself() -> None:
    values = {
        "source": "here",
        "log_partition": 3,
        "log_offset": 7,
        "timestamp": 9,
        "key": b"k",
        "value": None,
    }
    row = draft_of(LogRecord)(**values)
    row.__class__ = LogRecord
    assert row == LogRecord(**values)
    assert hash(row) == hash(LogRecord(**values))
    assert pickle.loads(pickle.dumps(row)) == row
    with pytest.raises(FrozenInstanceError):
        row.timestamp = 10
