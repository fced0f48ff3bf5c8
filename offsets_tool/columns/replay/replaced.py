"""Classic groups' records that another record of the group replaces before anything else happens to it: the state never shows them.

One record is the whole group (replay.classic), so that of several in a row only the last makes a difference to what comes after.
What replay would say on the way (a generation that goes back) is not said. Knows nothing of other kinds of groups.
"""

from collections.abc import Mapping
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from offsets_tool.columns.arrays import Array
from offsets_tool.columns.replay.columns_of_rows import encoded, numbers
from offsets_tool.records.classic import GroupMetadataValue
from offsets_tool.records.kinds import GROUP_METADATA
from offsets_tool.replay.rules import FIRST_JOIN
from offsets_tool.wire.json import camel, render
from offsets_tool.wire.schema import schema_of

_NO_GROUP: Final = -1


def _json_beginning(cls: type, facts: Mapping[str, object]) -> str:
    """Return how the JSON of a value begins that has these facts; TypeError if they are not its first fields."""
    names = [field.name for field in schema_of(cls).fields[: len(facts)]]
    if set(names) != set(facts):
        raise TypeError(f"{', '.join(facts)} are not the first fields of {cls.__name__}")
    return "{" + "".join(f"{render(camel(name))}:{render(facts[name])}," for name in names)


_FIRST_JOIN: Final = _json_beginning(GroupMetadataValue, FIRST_JOIN)
"""The first characters of the JSON of a classic group as only a new coordinator writes it."""


def are_replaced(rows: pa.RecordBatch, *, proved: bool) -> Array:
    """Return which rows, none of them a plain commit, need not be replayed, as truth values.

    What would prove the new coordinator stays, until it is `proved`.
    """
    whole = _are_whole_groups(rows)
    if not whole.any():
        return whole
    sequenced = numbers(rows.column("sequence"), -1) >= 0
    if not proved:
        starts = pc.starts_with(rows.column("value_json"), _FIRST_JOIN)
        whole &= ~sequenced & ~pc.fill_null(starts, False).to_numpy(zero_copy_only=False)
    batched = rows.column("base_offset").is_valid().to_numpy(zero_copy_only=False)
    groups = numbers(encoded(rows.column("group")).indices, _NO_GROUP)
    order = np.argsort(groups, kind="stable")
    # Only by one that tells the same of its writer.
    facts = np.stack((groups, sequenced, batched))[:, order]
    alike = (facts[:, :-1] == facts[:, 1:]).all(axis=0)
    replaced = np.zeros(len(whole), bool)
    replaced[order[:-1]] = alike & whole[order[:-1]] & whole[order[1:]]
    return replaced


def _are_whole_groups(rows: pa.RecordBatch) -> Array:
    """Return which rows are whole values of classic groups outside of transactions, as truth values."""
    whole: Array = numbers(rows.column("record_type"), -1) == GROUP_METADATA
    for name, wanted in (("value_version", True), ("problem", False)):
        whole &= rows.column(name).is_valid().to_numpy(zero_copy_only=False) == wanted
    transactional = pc.fill_null(rows.column("is_transactional"), False).to_numpy(zero_copy_only=False)
    whole &= ~transactional
    return whole
