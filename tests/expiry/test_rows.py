"""Rows of the table `expiry` from the fields that the forecast fills: none of them may be forgotten."""

from typing import Any, Final

import pytest

from offsets_tool.expiry.rows import ExpiryRow, expiry_row

OF_BOTH: Final = frozenset(
    {
        "group",
        "topic",
        "partition",
        "status",
        "rule",
        "committed_offset",
        "leader_epoch",
        "metadata",
        "commit_timestamp",
        "expire_timestamp",
        "topic_id",
        "log_partition",
        "log_offset",
        "release",
        "retention_ms",
        "check_interval_ms",
    }
)
OF_LIVE: Final = frozenset({"expires_at", "expires_in_ms", "base_timestamp"})
OF_REMOVED: Final = frozenset(ExpiryRow._fields) - OF_BOTH - OF_LIVE
FILLED: Final = {"live": OF_BOTH | OF_LIVE, "removed": OF_BOTH | OF_REMOVED}


def filled(status: str) -> dict[str, Any]:
    return {name: (name,) for name in FILLED[status]} | {"status": status}


@pytest.mark.parametrize("status", FILLED)
def test_what_the_other_status_has_is_null_or_empty(status: str) -> None:
    row = expiry_row(filled(status))._asdict()
    absent = row.keys() - FILLED[status]
    assert {name: row[name] for name in row.keys() - absent} == filled(status)
    assert {name: row[name] for name in absent} == {
        name: () if name in ("alternatives", "evidence") else None for name in absent
    }


@pytest.mark.parametrize(
    ("status", "field"), sorted((status, name) for status, names in FILLED.items() for name in names)
)
def test_a_field_that_the_forecast_forgets_is_an_error(status: str, field: str) -> None:
    row = filled(status)
    del row[field]
    with pytest.raises(KeyError, match=field):
        expiry_row(row)
