"""Committed offsets that the tables of a replay by column hold, as bytes of a checkpoint and back, without an object for each.

The bytes are a line of JSON, with all that the columns number and how they are packed, and behind it the columns. What is read is
checked before it counts, because compiled code takes numbers in tables for places. Damage raises what checkpoint.understanding
explains.
"""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple
from uuid import UUID

import numpy as np
import pyarrow as pa

from offsets_tool.checkpoint import Checkpoint, restore, understanding
from offsets_tool.columns.arrays import Array
from offsets_tool.columns.replay.compiled.cells import BEGAN
from offsets_tool.columns.replay.compiled.tables import NONE, FactCell, LifetimeStatus, OffsetCell
from offsets_tool.columns.replay.ended_rows import distinct
from offsets_tool.columns.replay.history_store import HistoryStore
from offsets_tool.columns.replay.lifetime_store import LifetimeStore
from offsets_tool.columns.replay.subjects import Names
from offsets_tool.history.owners import Owner
from offsets_tool.replay.changes import CommittedOffset, GroupKind
from offsets_tool.replay.member_records import Client
from offsets_tool.wire.text import from_shown, shown

Listed = list[Any]
"""Values of JSON, which a column has by their places."""

_INT32: Final = (-(1 << 31), (1 << 31) - 1)
_BOUNDS: Final[Mapping[int, tuple[int, int]]] = {
    FactCell.LEADER_EPOCH: _INT32,
    FactCell.BEGIN_CAUSE: (0, len(BEGAN) - 1),
    FactCell.IS_EFFECTIVE: (0, 1),
    FactCell.HAS_BEFORE: (0, 1),
    OffsetCell.LIFETIME: (LifetimeStatus.KNOWN, max(LifetimeStatus)),
}
"""The least and the greatest number of a cell; of others any goes."""
_NUMBERS: Final = (
    FactCell.COMMITTED_OFFSET,
    FactCell.COMMIT_TIMESTAMP,
    FactCell.EXPIRE_TIMESTAMP,
    FactCell.COMMIT_LOG_OFFSET,
    FactCell.NOOP_TOMBSTONE,
    OffsetCell.BEGAN,
    *_BOUNDS,
)
_NEAR: Final = {
    FactCell.FROM_LOG_OFFSET: FactCell.COMMIT_LOG_OFFSET,
    FactCell.FROM_TIMESTAMP: FactCell.COMMIT_TIMESTAMP,
    FactCell.BEFORE: FactCell.COMMITTED_OFFSET,
    OffsetCell.COMMITTED_AT: FactCell.COMMIT_TIMESTAMP,
}
"""Cells most often near to one of the former, from which they are counted (modulo 64 bits)."""
_OWNER_TYPES: Final = (pa.string(), *(pa.int32(),) * 3, *(pa.string(),) * 4, pa.bool_())


def pack_offsets(store: HistoryStore) -> bytes:
    """Return the committed offsets that the tables hold, with their open rows and lifetimes; pending commits must be elsewhere."""
    numbers = store.in_tables()
    if not len(numbers):
        return b""
    lines = store.tables.offsets[numbers]
    listed = _listed(numbers, lines, store)
    columns = [listed[name][1] for name in _LISTS]
    columns += [store.subjects.partitions_of(numbers).astype(np.int64)]
    columns += [lines[:, cell] for cell in _NUMBERS]
    columns += [lines[:, cell] - lines[:, near] for cell, near in _NEAR.items()]
    planes, packed = pack_planes(columns)
    values = {name: values for name, (values, _) in listed.items()}
    head = json.dumps({"count": len(numbers), "planes": planes, **values}, separators=(",", ":"))
    return head.encode("ascii") + b"\n" + packed


def _listed(numbers: Array, lines: Array, store: HistoryStore) -> dict[str, tuple[Listed, Array]]:
    """Return what _LISTS names: the distinct values, and the place of each offset's value among them."""
    subjects, topic_ids = store.subjects, store.topic_ids.ids
    groups, of_group = distinct(lines[:, OffsetCell.GROUP])
    topics, of_topic = distinct(subjects.topics_of(numbers))
    ids, of_id = distinct(lines[:, FactCell.TOPIC_ID])
    lived, of_lived = distinct(lines[:, OffsetCell.LIFETIME_TOPIC_ID])
    texts = store.texts.column(np.ascontiguousarray(lines[:, FactCell.TEXT])).dictionary_encode()
    owners, of_owner = distinct(store.owners.of(lines[:, FactCell.OWNER]))
    producers, of_producer = distinct(lines[:, FactCell.PRODUCER])
    return {
        "groups": ([subjects.groups.shown[group] for group in groups], of_group),
        "topics": ([subjects.topics.shown[topic] for topic in topics], of_topic),
        "topic_ids": ([_hex(topic_ids[number]) for number in ids], of_id),
        "lifetime_topic_ids": ([_hex(topic_ids[number]) for number in lived], of_lived),
        "texts": (texts.dictionary.to_pylist(), texts.indices.to_numpy()),
        "owners": ([_packed_owner(store.owners.owners[place]) for place in owners], of_owner),
        "producers": (
            [None if each == NONE else subjects.producer(each) for each in producers],
            of_producer,
        ),
    }


def _hex(topic_id: UUID | None) -> str | None:
    return None if topic_id is None else topic_id.hex


def _packed_owner(owner: Owner) -> Listed:
    kind, *numbers, member_id, client, is_known = owner
    texts = (None if text is None else shown(text) for text in (member_id, *client))
    return [kind, *numbers, *texts, is_known]


def unpack_offsets(data: bytes, store: HistoryStore) -> None:
    """Put the committed offsets from which `pack_offsets` made these bytes into the tables of a store that has none yet."""
    if not data:
        return
    line, _, packed = data.partition(b"\n")
    head = json.loads(line)
    columns = unpack_planes([Plane(*plane) for plane in head["planes"]], head["count"], packed)
    places, (partitions, *cells) = columns[: len(_LISTS)], columns[len(_LISTS) :]
    groups, topics, *numbered = (
        _numbered(read(head[name], store), at)
        for (name, read), at in zip(_LISTS.items(), places, strict=True)
    )
    unsigned = _bounded(partitions, *_INT32) & 0xFFFF_FFFF
    numbers = store.subjects.numbers_of(groups, topics, unsigned)
    if not np.array_equal(numbers, np.arange(len(numbers))):
        raise ValueError("a committed offset comes twice")
    store.hold(len(numbers), {**_cells(cells), **dict(zip(_LISTED, numbered, strict=True))})


def _cells(columns: Sequence[Array]) -> dict[int, Array]:
    """Return the cells that are packed as numbers."""
    found = dict[int, Array](zip((*_NUMBERS, *_NEAR), columns, strict=True))
    for cell, bounds in _BOUNDS.items():
        _bounded(found[cell], *bounds)
    return found | {cell: found[cell] + found[near] for cell, near in _NEAR.items()}


def _bounded(column: Array, least: int, greatest: int) -> Array:
    if column.min() < least or column.max() > greatest:
        raise ValueError("a number out of its bounds")
    return column


def _numbered(numbers: Array, places: Array) -> Array:
    """Return the number at each place."""
    return numbers[_bounded(places, 0, len(numbers) - 1)]


def _names(names: Listed, known: Names) -> Array:
    column = pa.array(names, pa.string())
    if column.null_count:
        raise ValueError("a group or a topic without a name")
    return known.of(column)


def _topic_ids(ids: Listed, store: HistoryStore) -> Array:
    numbers = [store.topic_ids.number(UUID(text) if text else None) for text in ids]
    return np.array(numbers, np.int64)


def _texts(texts: Listed, store: HistoryStore) -> Array:
    added = [store.texts.add(text or "") for text in pa.array(texts, pa.string()).to_pylist()]
    return np.array(added, np.int64)


def _owners(packed: Listed, store: HistoryStore) -> Array:
    columns = zip(*packed, strict=True)
    checked = [pa.array(*both).to_pylist() for both in zip(columns, _OWNER_TYPES, strict=True)]
    return np.array([store.owners.add(_owner(*row)) for row in zip(*checked, strict=True)], np.int64)


def _owner(kind: str | None, *facts: Any) -> Owner:
    generation, group_epoch, member_epoch, *texts, is_known = facts
    member_id, *client = (None if text is None else from_shown(text) for text in texts)
    known_kind = None if kind is None else GroupKind(kind)
    epochs = generation, group_epoch, member_epoch
    return Owner(known_kind, *epochs, member_id, Client(*client), bool(is_known))


def _producers(ids: Listed, store: HistoryStore) -> Array:
    column = pa.array(ids, pa.int64())
    numbers = store.subjects.producer_numbers(column.drop_null().to_numpy())
    found: Array = np.full(len(column), NONE)
    found[column.is_valid().to_numpy(zero_copy_only=False)] = numbers
    return found


_LISTS: Final[Mapping[str, Callable[[Listed, HistoryStore], Array]]] = {
    "groups": lambda names, store: _names(names, store.subjects.groups),
    "topics": lambda names, store: _names(names, store.subjects.topics),
    "topic_ids": _topic_ids,
    "lifetime_topic_ids": _topic_ids,
    "texts": _texts,
    "owners": _owners,
    "producers": _producers,
}
"""What columns number, and how the numbers that a store gives to what is listed are found."""
_LISTED: Final = (
    FactCell.TOPIC_ID,
    OffsetCell.LIFETIME_TOPIC_ID,
    FactCell.TEXT,
    FactCell.OWNER,
    FactCell.PRODUCER,
)
"""The cells that have the numbers of all lists but those of groups and topics."""


class _LiveStore(HistoryStore):
    """A HistoryStore that gives History no rows of committed offsets, which cost as much as all else of them."""

    def put(self, numbers: Sequence[int], commits: Iterable[CommittedOffset]) -> None:
        """Put commits of offsets, given by number, into State, and their lifetimes into Lifetimes."""
        LifetimeStore.put(self, numbers, commits)


def restore_live(checkpoint: bytes, source: str) -> Checkpoint:
    """Return a checkpoint with all live offsets in the coordinator's state and in Lifetimes, as objects; History is without them.

    SourceError if it is damaged, or of another release's version; `source` names it.
    """
    found = restore(checkpoint, source)
    coordinator, observers = found.coordinator, found.observers
    if observers is not None:
        tracker = observers.removals.tracker
        store = _LiveStore(coordinator.log_partition, coordinator.state, observers.history, tracker)
        with understanding(source):
            unpack_offsets(found.offsets, store)
        store.materialize()
    return found


_WORD: Final = 8
_MASK: Final = (1 << 64) - 1


class Plane(NamedTuple):
    """How a column is packed: its least number, and how many bytes each number takes above that."""

    least: int
    width: int


def pack_planes(columns: Sequence[Array]) -> tuple[list[Plane], bytes]:
    """Return columns of equal length, which is not 0, as bytes, and how each is packed."""
    planes, parts = [], []
    for column in columns:
        least = column.min()
        above = np.ascontiguousarray(column - least, "<i8").view("<u8")
        width = max(1, (int(above.max()).bit_length() + 7) // 8)
        planes.append(Plane(int(least), width))
        parts.append(above.view(np.uint8).reshape(-1, _WORD).T[:width].tobytes())
    return planes, b"".join(parts)


def unpack_planes(planes: Sequence[Plane], count: int, data: bytes) -> list[Array]:
    """Return the columns that `pack_planes` packed so, of `count` numbers each.

    TypeError or ValueError for what it cannot have packed.
    """
    if not all(1 <= width <= _WORD for _, width in planes) or count < 1:
        raise ValueError("columns of no size")
    if len(data) != count * sum(width for _, width in planes):
        raise ValueError("columns of another size")
    columns, at = list[Array](), 0
    for least, width in planes:
        packed = np.frombuffer(data, np.uint8, count * width, at)
        above: Array = np.zeros((count, _WORD), np.uint8)
        above[:, :width] = packed.reshape(width, count).T
        columns.append((above.view("<u8")[:, 0] + np.uint64(least & _MASK)).astype(np.int64))
        at += count * width
    return columns
