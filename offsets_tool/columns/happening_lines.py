"""JSON lines of commits that happened, by column: a template for all that repeats, numbers in between.

Does not know what a line says: a template is made of the line of one commit, as it is printed one at a time.
"""

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any, Final, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from offsets_tool.columns.arrays import Array
from offsets_tool.columns.differences import differences
from offsets_tool.columns.replay.compiled.tables import NONE, FactCell
from offsets_tool.columns.replay.history_store import HistoryStore

JsonOf = Callable[[Any], str]
"""From a value to its JSON."""
RowsOf = Callable[[Sequence[int]], Iterable[Mapping[str, Any]]]
TimeOf = Callable[[int], str | None]
"""From epoch milliseconds to the text of a time."""
_FACTS: Final = {
    "committed_offset": FactCell.COMMITTED_OFFSET,
    "leader_epoch": FactCell.LEADER_EPOCH,
    "commit_timestamp": FactCell.COMMIT_TIMESTAMP,
    "expire_timestamp": FactCell.EXPIRE_TIMESTAMP,
}
"""The numbers of a commit that vary, in the order of their fields."""
_VARYING: Final = ("written_at", "timestamp", "log_offset", "delta")
_KEPT: Final = 200_000
"""How many templates are kept: about as many as there are partitions of groups, twice."""
_VALUES_KEPT: Final = 100_000
"""Of how many values the JSON is kept."""
_CALENDAR_END: Final = 253_402_300_800_000
"""Epoch milliseconds of the year 10000: times below have a text of as many characters."""
_TIME_LENGTH: Final = 23


class CommitsOfRun(NamedTuple):
    """Commits in the order of the log: numbers of their offsets, facts of each, and of each what it replaced, if `has_before`."""

    subjects: Array
    after: Array
    """Lines of FactCell."""
    before: Array
    """Lines that begin with FactCell; of those without, any."""
    has_before: Array

    @property
    def log_offsets(self) -> Array:
        """The log offset of each commit."""
        offsets: Array = self.after[:, FactCell.FROM_LOG_OFFSET]
        return offsets

    def at(self, places: Sequence[int]) -> "CommitsOfRun":
        """Return the commits at some places."""
        return CommitsOfRun(*(column[list(places)] for column in self))


def together(some: Sequence[CommitsOfRun]) -> CommitsOfRun:
    """Return the commits of several runs, one behind the other."""
    return CommitsOfRun(*(np.concatenate(columns) for columns in zip(*some, strict=True)))


class CommitLines:
    """Makes the lines of commits, with a template for each offset, owner and whatever else does not vary."""

    def __init__(self, json_of: JsonOf, time_of: TimeOf) -> None:
        """Start without templates."""
        # Names and values repeat, and 1 is not True.
        self._json_of, self._time_of = lru_cache(_VALUES_KEPT, typed=True)(json_of), time_of
        self._templates: dict[Hashable, list[str]] = {}

    def of(self, commits: CommitsOfRun, store: HistoryStore, rows_of: RowsOf) -> pa.StringArray:
        """Return the line of each commit; `rows_of` returns the fields of some of them, given their places."""
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
        numbers = [*self._numbers(commits), None]
        alternating = [each for pair in zip(texts, numbers, strict=True) for each in pair][:-1]
        lines: pa.StringArray = pc.binary_join_element_wise(*alternating, "")
        return lines

    def _numbers(self, commits: CommitsOfRun) -> Iterator[pa.Array]:
        """Yield the texts that stand between the pieces of templates, in their order; empty where a template has no such number."""
        after, has_before = commits.after, commits.has_before
        deltas = differences(after[:, FactCell.COMMITTED_OFFSET], after[:, FactCell.BEFORE])
        yield self._times(after[:, FactCell.FROM_TIMESTAMP])
        yield _text(after[:, FactCell.FROM_TIMESTAMP])
        yield _text(after[:, FactCell.FROM_LOG_OFFSET])
        for cell in _FACTS.values():
            yield _text(commits.before[:, cell], has_before)
        for cell in _FACTS.values():
            yield _text(after[:, cell])
        yield _text(deltas, after[:, FactCell.HAS_BEFORE] != 0)

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
    return texts if where is None or where.all() else pc.if_else(pa.array(where), texts, "")


def _pieces(row: Mapping[str, Any], json_of: JsonOf) -> Iterator[str]:
    """Yield the JSON line of a row in pieces, between which the numbers that vary belong."""
    piece = "{"
    for place, (name, value) in enumerate(row.items()):
        piece += f"{',' if place else ''}{json_of(name)}:"
        if name in ("before", "after"):
            *varying, piece = _facts(value, json_of, piece)
            yield from varying
        elif name in _VARYING:
            yield piece + ("null" if name == "delta" and value is None else "")
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
    metadata: Sequence[pa.Array]

    def distinct(self, commits: CommitsOfRun, store: HistoryStore) -> Iterator[tuple[Hashable, int]]:
        """Yield for each code what its commits have in common, and the place of one of them."""
        firsts = np.array(self.firsts)
        owners = store.owners.of(commits.after[firsts, FactCell.OWNER]).tolist()
        texts = [column.take(pa.array(firsts)).to_pylist() for column in self.metadata]
        facts = [column[firsts].tolist() for column in self.columns]
        for place, owner, *others in zip(self.firsts, owners, *texts, *facts, strict=True):
            yield (store.owners.owners[owner], *others), place


def _keys(commits: CommitsOfRun, store: HistoryStore) -> _Keys:
    after, before = commits.after, commits.before
    after_gap = store.history.after_gap
    # Numbers in which two commits with one template do not differ; of those that vary, what a label may depend on.
    behind_gap = (after[:, FactCell.COMMIT_LOG_OFFSET] >= after_gap) if after_gap is not None else None
    zeros = np.zeros(len(after), bool)
    falls = differences(after[:, FactCell.COMMITTED_OFFSET], after[:, FactCell.BEFORE]) < 0
    columns = [
        commits.subjects,
        falls,
        zeros if behind_gap is None else behind_gap,
        commits.has_before,
        *(after[:, cell] for cell in (FactCell.HAS_BEFORE, FactCell.IS_EFFECTIVE, FactCell.BEGIN_CAUSE)),
        *(after[:, cell] for cell in (FactCell.PRODUCER, FactCell.NOOP_TOMBSTONE)),
        np.where(commits.has_before, before[:, FactCell.IS_EFFECTIVE], 0),
    ]
    replaced = np.where(commits.has_before, before[:, FactCell.TEXT], NONE)
    metadata = [
        store.texts.column(numbers) for numbers in (np.ascontiguousarray(after[:, FactCell.TEXT]), replaced)
    ]
    coded = [column.dictionary_encode().indices.to_numpy() for column in metadata]
    codes = _codes([*columns, store.owners.of(after[:, FactCell.OWNER]), *coded])
    _, firsts = np.unique(codes, return_index=True)
    return _Keys(codes, firsts.tolist(), columns, metadata)


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
