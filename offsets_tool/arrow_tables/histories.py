"""Turn tables of histories, a lake's or those of `read_histories`, into the rows of groups that pictures need."""

from collections.abc import Iterator, Mapping
from itertools import groupby
from typing import Any, Final

import pyarrow as pa

from offsets_tool.findings.group_rows import GroupRow, GroupRows, LogStretch, gather
from offsets_tool.history.rows import GroupHistoryRow, MemberHistoryRow, OffsetHistoryRow

_ROWS: Final[dict[str, type]] = {
    "offset_history": OffsetHistoryRow,
    "group_history": GroupHistoryRow,
    "member_history": MemberHistoryRow,
}


def histories_by_group(tables: Mapping[str, pa.Table]) -> list[GroupRows]:
    """Return the rows of `offset_history`, `group_history` and `member_history`, as far as there are such tables, by group.

    `group_pictures` and `topic_pictures` draw them. Tables of a lake may have more columns; those of several clusters must be
    filtered to one before, as a group's name says nothing about its cluster. KeyError where a column is missing.

    >>> from offsets_tool import group_pictures, read_histories
    >>> (group, *others) = histories_by_group(read_histories("fixtures/incidents/reset-to-earliest/segments"))
    >>> group.group, len(group.offsets), [each.name for each in group_pictures(group)][:2]
    ('payments', 108, ['committed-offsets', 'group-state'])
    """
    rows = sorted(_rows(tables), key=_partition)
    found: list[GroupRows] = []
    for number, some in groupby(rows, key=_partition):
        found += gather(some, LogStretch(None if number < 0 else number)).values()
    return found


def _rows(tables: Mapping[str, pa.Table]) -> Iterator[GroupRow]:
    for name, row in _ROWS.items():
        if name in tables:
            fields: tuple[str, ...] = row._fields  # type: ignore[attr-defined]
            for values in tables[name].select(fields).to_pylist():
                yield row(*map(_plain, values.values()))


def _plain(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


def _partition(row: GroupRow) -> int:
    return -1 if row.log_partition is None else row.log_partition
