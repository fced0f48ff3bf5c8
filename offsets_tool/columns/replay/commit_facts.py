"""Plain commits as one array of facts, and the rows of offset_history that they become when they end. Knows no past."""

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

import numpy as np
import pyarrow as pa

from offsets_tool.columns.arrays import Array
from offsets_tool.columns.replay.row_subjects import RowSubjects
from offsets_tool.history.owners import Owner
from offsets_tool.history.rows import OffsetBeginCause, OffsetEndCause, OffsetHistoryRow
from offsets_tool.wire.arrow import arrow_schema
from offsets_tool.wire.json import uuid_text
from offsets_tool.wire.schema import ZERO_UUID
from offsets_tool.wire.text import shown

_TAKEN: Final = (
    "committed_offset",
    "leader_epoch",
    "commit_timestamp",
    "expire_timestamp",
    "log_offset",
    "timestamp",
)
FACTS: Final = np.dtype(
    [
        ("subject", np.int64),
        *((name, np.int64) for name in _TAKEN),
        ("delta", np.int64),
        ("has_delta", np.bool_),
        ("owner", np.int64),
        ("metadata", np.object_),
        ("topic_id", np.object_),
    ]
)
"""`owner` is a number in a list of Owners; `metadata` as rows show it; `topic_id` its text, None where the commit gives none."""
_NO_ID: Final = uuid_text(ZERO_UUID)


def facts_of(rows: pa.RecordBatch, places: Array, subjects: Array) -> Array:
    """Of the commits at these places; nothing is known of their past and their owners yet."""
    at = pa.array(places)
    facts = np.zeros(len(places), FACTS)
    facts["subject"] = subjects
    for name in _TAKEN:
        facts[name] = rows.column(name).take(at).to_numpy()
    facts["metadata"] = rows.column("metadata").take(at).to_numpy(zero_copy_only=False)
    ids = rows.column("topic_id").take(at).to_numpy(zero_copy_only=False)
    facts["topic_id"] = np.where(ids == _NO_ID, None, ids)
    return facts


class Surroundings(NamedTuple):
    """What facts refer to. `after_gap` as History has it."""

    log_partition: int | None
    subjects: RowSubjects
    owners: Sequence[Owner]
    after_gap: int | None


def ended_rows(facts: Array, ends: Array, around: Surroundings) -> pa.RecordBatch:
    """The rows of commits (`facts`) that others (`ends`) ended."""
    of = [around.subjects.offsets[number] for number in facts["subject"].tolist()]
    names = [around.subjects.shown[number] for number in facts["subject"].tolist()]
    many = len(facts)
    owned = _owner_columns(facts, around)
    columns: dict[str, Any] = {
        "group": [group for group, _ in names],
        "topic": [topic for _, topic in names],
        "partition": [offset.partition for offset in of],
        "is_effective": np.ones(many, bool),
        "committed_offset": facts["committed_offset"],
        "delta": pa.array(facts["delta"], mask=~facts["has_delta"]),
        "leader_epoch": facts["leader_epoch"].astype(np.int32),
        "metadata": facts["metadata"],
        "commit_timestamp": facts["commit_timestamp"],
        "expire_timestamp": facts["expire_timestamp"],
        "topic_id": facts["topic_id"],
        "log_partition": pa.repeat(pa.scalar(around.log_partition, pa.int32()), many),
        "commit_log_offset": facts["log_offset"],
        "from_log_offset": facts["log_offset"],
        "from_timestamp": facts["timestamp"],
        "to_log_offset": ends["log_offset"],
        "to_timestamp": ends["timestamp"],
        "begin_cause": pa.repeat(OffsetBeginCause.COMMIT.value, many),
        "end_cause": pa.repeat(OffsetEndCause.SUPERSEDED.value, many),
        "producer_id": pa.nulls(many, pa.int64()),
        "noop_tombstone_log_offset": pa.nulls(many, pa.int64()),
        **owned,
    }
    schema = arrow_schema(OffsetHistoryRow)
    arrays = [
        columns[field.name]
        if isinstance(columns[field.name], pa.Array)
        else pa.array(columns[field.name], field.type)
        for field in schema
    ]
    return pa.record_batch(arrays, schema=schema)


def _owner_columns(facts: Array, around: Surroundings) -> dict[str, pa.Array]:
    """Each distinct owner's facts once, then by number."""
    distinct, which = np.unique(facts["owner"], return_inverse=True)
    some = [around.owners[number] for number in distinct.tolist()]
    known = np.array([owner.is_known for owner in some], bool)[which]
    if around.after_gap is not None:
        # As History has it: behind a missing record nobody is known not to have been an owner.
        nobody = np.array([owner.member_id is None for owner in some], bool)[which]
        known &= ~(nobody & (facts["log_offset"] >= around.after_gap))
    at = pa.array(which)
    types = {field.name: field.type for field in arrow_schema(OffsetHistoryRow)}
    values = {
        "group_kind": [owner.kind for owner in some],
        "generation": [owner.generation for owner in some],
        "group_epoch": [owner.group_epoch for owner in some],
        "member_epoch": [owner.member_epoch for owner in some],
        "member_id": [_shown(owner.member_id) for owner in some],
        "instance_id": [_shown(owner.client.instance_id) for owner in some],
        "client_id": [_shown(owner.client.client_id) for owner in some],
        "client_host": [_shown(owner.client.client_host) for owner in some],
    }
    made = {name: pa.array(column, types[name]).take(at) for name, column in values.items()}
    return {**made, "is_owner_known": pa.array(known)}


def _shown(text: str | None) -> str | None:
    return None if text is None else shown(text)
