"""A survey of rows of `events`: the same counts as record by record, taken column by column."""

from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from offsets_tool.columns.reading import BatchesRead, RowsRead
from offsets_tool.survey import Survey, control_kind, tombstone_kind, unread_kind, value_kind

_TELLING: Final = (
    "is_control",
    "control",
    "record_type",
    "record_name",
    "tombstone",
    "value_version",
    "layout",
    "kept_raw",
)


def survey_rows(rows: RowsRead, survey: Survey) -> None:
    """Adds rows, and the batches that they came from."""
    if isinstance(rows.batches, BatchesRead):
        survey.see_run(*rows.batches)
    else:
        for read in rows.batches:
            survey.see_batch(read)
    if rows.events is not None:
        _count_kinds(rows.events, survey)
        survey.groups.update(pc.unique(rows.events.column("group")).drop_null().to_pylist())


def _count_kinds(events: pa.RecordBatch, survey: Survey) -> None:
    telling = pa.table({name: _plain(events.column(name)) for name in _TELLING})
    counted = telling.group_by(list(_TELLING)).aggregate([([], "count_all")])
    for row in counted.to_pylist():
        survey.kinds[_kind(row)] += row["count_all"]


def _plain(column: pa.Array) -> pa.Array:
    """Groups are formed by values; a dictionary's numbers serve, but not every kernel takes them."""
    return column.dictionary_decode() if pa.types.is_dictionary(column.type) else column


def _kind(row: dict[str, Any]) -> str:
    if row["is_control"]:
        return control_kind(row["control"])
    if row["record_name"] is None:
        return unread_kind(row["record_type"], no_key=row["kept_raw"] == "no key")
    if row["tombstone"]:
        return tombstone_kind(row["record_type"])
    return value_kind(row["record_type"], row["value_version"], row["layout"])
