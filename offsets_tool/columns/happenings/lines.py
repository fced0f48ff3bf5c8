"""JSON lines of what happened to committed offsets, by column: a template for all that repeats, numbers and names in between.

Does not know what a line says: a template is made of the line of one of them, as it is printed one at a time.
"""

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any, Final, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from offsets_tool.columns.arrays import Array
from offsets_tool.columns.happenings.commits_of_run import CommitsOfRun
from offsets_tool.columns.replay.compiled.tables import NONE, FactCell
from offsets_tool.columns.replay.history_store import HistoryStore, deltas_of
from offsets_tool.wire.text import from_shown

JsonOf = Callable[[Any], str]
"""From a value to its JSON."""
RowsOf = Callable[[Sequence[int]], Iterable[Mapping[str, Any]]]
TimeOf = Callable[[int], str | None]
"""From epoch milliseconds to the text of a time."""
_FACTS: Final = {
    "committed_offset": FactCell.COMMITTED_OFFSET,
    "leader_epoch": FactCell.LEADER_EPOCH,
    "metadata": FactCell.TEXT,
    "commit_timestamp": FactCell.COMMIT_TIMESTAMP,
    "expire_timestamp": FactCell.EXPIRE_TIMESTAMP,
}
"""The facts of a commit that vary, in the order of their fields: numbers, but for the text of its metadata."""
_OR_NULL: Final = ("delta", "producer_id")
_VARYING: Final = ("written_at", "timestamp", "log_offset", "group", "topic", "partition", *_OR_NULL)
_KEPT: Final = 100_000
"""How many templates are kept: a few for each owner of partitions."""
_VALUES_KEPT: Final = 100_000
"""Of how many values the JSON is kept."""
_CALENDAR_END: Final = 253_402_300_800_000
"""Epoch milliseconds of the year 10000: times below have a text of as many characters."""
_TIME_LENGTH: Final = 23


class CommitLines:
    """Makes the lines of what happened, with a template for each owner and whatever else does not vary."""

    def __init__(self, json_of: JsonOf, time_of: TimeOf) -> None:
        """Start without templates."""
        # Names and values repeat, and 1 is not True.
        self._json_of, self._time_of = lru_cache(_VALUES_KEPT, typed=True)(json_of), time_of
        self._templates: dict[Hashable, list[str]] = {}

    def of(self, commits: CommitsOfRun, store: HistoryStore, rows_of: RowsOf) -> pa.StringArray:
        """Return the line of each thing that happened; `rows_of` returns the fields of some of them, given their places."""
        keys = _keys(commits, store)
        distinct = list(keys.distinct(commits, store))
        if len(self._templates) > _KEPT:
            self._templates.clear()
        missing = {key: place for key, place in distinct if key not in self._templates}
        for key, row in zip(missing, rows_of(list(missing.values())), strict=True):
            self._templates[key] = list(_pieces(row, self._json_of))
        pieces = zip(*(self._templates[key] for key, _ in distinct), strict=True)
        codes = pa.array(keys.codes)
        texts = [_taken(first, codes) for first in pieces]
        varying = [*self._varying(commits, store), None]
        alternating = [each for pair in zip(texts, varying, strict=True) for each in pair][:-1]
        lines: pa.StringArray = pc.binary_join_element_wise(*alternating, "")
        return lines

    def _varying(self, commits: CommitsOfRun, store: HistoryStore) -> Iterator[pa.Array]:
        """Yield the texts that stand between the pieces of templates, in their order; empty where a template has none."""
        rows, producers = commits.rows, commits.rows[:, FactCell.PRODUCER]
        deltas, has_delta = deltas_of(rows)
        yield self._times(commits.timestamps)
        yield _text(commits.timestamps)
        yield _text(commits.log_offsets)
        topics, partitions = store.subjects.names_of(commits.subjects)
        yield self._json(store.subjects.groups.column(store.subjects.group_of[commits.subjects]))
        yield self._json(topics)
        yield partitions.cast(pa.string())
        yield from self._facts(commits.before, commits.has_before, store)
        yield from self._facts(rows, commits.has_after, store)
        yield _text(deltas, has_delta)
        yield _text(store.subjects.producer_ids(producers), producers != NONE)

    def _facts(self, lines: Array, where: Array, store: HistoryStore) -> Iterator[pa.Array]:
        """Yield the texts of commits' facts, empty where they do not count."""
        for cell in _FACTS.values():
            if cell == FactCell.TEXT:
                yield _where(where, self._json(store.texts.column(np.where(where, lines[:, cell], NONE))))
            else:
                yield _text(lines[:, cell], where)

    def _json(self, column: pa.Array) -> pa.Array:
        """Return the JSON of texts, which are as rows show them."""
        texts = column.dictionary_encode()
        json = [self._json_of(from_shown(text)) for text in texts.dictionary.to_pylist()]
        return pa.array(json, pa.string()).take(texts.indices)

    def _times(self, times: Array) -> pa.Array:
        """Return times of records in JSON."""
        if len(times) and (times.min() < 0 or times.max() >= _CALENDAR_END):
            return pa.array([self._json_of(self._time_of(each)) for each in times.tolist()], pa.string())
        texts = pa.array(times, pa.timestamp("ms")).cast(pa.string())
        characters = np.frombuffer(texts.buffers()[2], np.uint8, len(times) * _TIME_LENGTH)
        shaped = characters.reshape(len(times), _TIME_LENGTH).copy()
        shaped[:, 10] = ord("T")
        iso = pa.StringArray.from_buffers(len(times), texts.buffers()[1], pa.py_buffer(shaped))
        return pc.binary_join_element_wise(pa.scalar('"'), iso, pa.scalar('Z"'), "")


def _taken(texts: Sequence[str], codes: pa.Array) -> pa.Array | pa.Scalar:
    """Return the text with each of these numbers; one for all if there is but one."""
    return pa.scalar(texts[0]) if len(set(texts)) == 1 else pa.array(texts, pa.string()).take(codes)


def _text(numbers: Array, where: Array | None = None) -> pa.Array:
    """Return numbers as texts, empty texts where they do not count."""
    texts = pa.array(np.ascontiguousarray(numbers)).cast(pa.string())
    return texts if where is None else _where(where, texts)


def _where(where: Array, texts: pa.Array) -> pa.Array:
    """Return texts, empty where they do not count."""
    return texts if where.all() else pc.if_else(pa.array(where), texts, "")


def _pieces(row: Mapping[str, Any], json_of: JsonOf) -> Iterator[str]:
    """Yield the JSON line of a row in pieces, between which what varies belongs."""
    piece = "{"
    for place, (name, value) in enumerate(row.items()):
        piece += f"{',' if place else ''}{json_of(name)}:"
        if name in ("before", "after"):
            *varying, piece = _facts(value, json_of, piece)
            yield from varying
        elif name in _VARYING:
            yield piece + ("null" if value is None and name in _OR_NULL else "")
            piece = ""
        else:
            piece += json_of(value)
    yield piece + "}\n"


def _facts(facts: Mapping[str, Any] | None, json_of: JsonOf, piece: str) -> Iterator[str]:
    """Yield the JSON of a commit's facts behind a piece, in pieces, as many where it has none."""
    if facts is None:
        yield piece + json_of(None)
        yield from ("" for _ in _FACTS)
        return
    piece += "{"
    for place, (name, value) in enumerate(facts.items()):
        piece += f"{',' if place else ''}{json_of(name)}:"
        if name in _FACTS:
            yield piece
            piece = ""
        else:
            piece += json_of(value)
    yield piece + "}"


class _Keys(NamedTuple):
    """Which commits share a template: a code for each, and for each code the place of its first commit."""

    codes: Array
    firsts: Sequence[int]
    columns: Sequence[Array]

    def distinct(self, commits: CommitsOfRun, store: HistoryStore) -> Iterator[tuple[Hashable, int]]:
        """Yield for each code what its commits have in common, and the place of one of them."""
        firsts = np.array(self.firsts)
        owners = store.owners.of(commits.rows[firsts, FactCell.OWNER]).tolist()
        facts = [column[firsts].tolist() for column in self.columns]
        for place, owner, *others in zip(self.firsts, owners, *facts, strict=True):
            yield (store.owners.owners[owner], *others), place


def _keys(commits: CommitsOfRun, store: HistoryStore) -> _Keys:
    rows, before = commits.rows, commits.before
    after_gap = store.history.after_gap
    # Numbers in which two lines of one template do not differ; of those that vary, what a label may depend on.
    behind_gap = (rows[:, FactCell.COMMIT_LOG_OFFSET] >= after_gap) if after_gap is not None else None
    zeros = np.zeros(len(rows), bool)
    deltas, has_delta = deltas_of(rows)
    columns = [
        deltas < 0,
        has_delta,
        zeros if behind_gap is None else behind_gap,
        commits.has_before,
        commits.has_after,
        rows[:, FactCell.PRODUCER] == NONE,
        *(rows[:, cell] for cell in (FactCell.IS_EFFECTIVE, FactCell.BEGIN_CAUSE)),
        rows[:, FactCell.NOOP_TOMBSTONE],
        np.where(commits.has_before, before[:, FactCell.IS_EFFECTIVE], 0),
    ]
    codes = _codes([*columns, store.owners.of(rows[:, FactCell.OWNER])])
    _, firsts = np.unique(codes, return_index=True)
    return _Keys(codes, firsts.tolist(), columns)


def _codes(columns: Sequence[Array]) -> Array:
    """Return for each row a number below the count of distinct rows, equal where all columns are."""
    codes: Array = np.zeros(len(columns[0]), np.int64)
    for column in columns:
        if not len(column) or (column == column[0]).all():
            continue
        each = pa.array(np.ascontiguousarray(column)).dictionary_encode()
        both = codes * len(each.dictionary) + each.indices.to_numpy()
        codes = pa.array(both).dictionary_encode().indices.to_numpy().astype(np.int64)
    return codes
