"""The tables of histories that findings rest on: their files, and the library's rows of what these hold. Knows no finding."""

from pathlib import Path
from typing import Final, NamedTuple

from offsets_tool.expiry.rows import ExpiryRow
from offsets_tool.findings.group_rows import GroupRow
from offsets_tool.history.rows import AnomalyRow, GroupHistoryRow, MemberHistoryRow, OffsetHistoryRow
from offsets_tool.history.transactions import TransactionRow
from offsets_tool.lake.scan import FileFacts, LakeTables
from offsets_tool.lake.tables import (
    ANOMALIES,
    EXPIRY,
    GROUP_HISTORY,
    MEMBER_HISTORY,
    OFFSET_HISTORY,
    TRANSACTIONS,
)
from offsets_tool.rows import Row

KINDS: Final[tuple[type[GroupRow], ...]] = (
    OffsetHistoryRow,
    GroupHistoryRow,
    MemberHistoryRow,
    AnomalyRow,
    ExpiryRow,
    TransactionRow,
)
TABLES: Final = (OFFSET_HISTORY, GROUP_HISTORY, MEMBER_HISTORY, ANOMALIES, EXPIRY, TRANSACTIONS)
"""The tables with rows of these kinds, in the same order."""


class Derivation(NamedTuple):
    """What a cluster's rows of a table were computed from, and by which run."""

    run: int
    basis: Row


class HistoryFile(NamedTuple):
    """A file of a table that findings rest on: the number of its rows' kind, where it is, and what Delta says of it."""

    kind: int
    path: Path
    facts: FileFacts


def history_files(lake: LakeTables) -> list[HistoryFile]:
    """Return the files of all tables of a lake that findings rest on."""
    return [
        HistoryFile(kind, lake.root / table.name / facts["path"], facts)
        for kind, table in enumerate(TABLES)
        for facts in lake.files(table)
    ]


def retention_of(expiry: Derivation) -> int | None:
    """Return the retention by which findings judge, in milliseconds, where expiry was computed for several; None where for one."""
    asked: list[int] = expiry.basis["asked"]["retentions"]
    return asked[0] if len(asked) > 1 else None


def is_counted(row: GroupRow, retention_ms: int | None) -> bool:
    """Return whether findings rest on a row: on a forecast of `expiry` only if it is by this retention; None is any."""
    if retention_ms is None or not isinstance(row, ExpiryRow):
        return True
    return row.status != "live" or row.retention_ms == retention_ms
