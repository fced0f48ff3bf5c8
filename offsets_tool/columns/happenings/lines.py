"""JSON lines of what happened to committed offsets, by column: a template for all that repeats, numbers and names in between.

Does not know what a line says: a template is made of the line of one of them, as it is printed one at a time.
"""

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache, partial
from typing import Any, Final, NamedTuple
from uuid import uuid4

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from offsets_tool.columns.arrays import Array
from offsets_tool.columns.happenings.commits_of_run import CommitsOfRun
from offsets_tool.columns.lines import Template, classes, cut_at, filled, number_texts, written
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
"""The facts of a commit that vary: numbers, but for the text of its metadata."""
_OR_NULL: Final = ("delta", "producer_id")
_SIDES: Final = ("before", "after")
_VARYING: Final = ("written_at", "timestamp", "log_offset", "group", "topic", "partition", *_OR_NULL)
_MARKS: Final = {
    slot: f"{uuid4().hex} {slot}"
    for slot in (*_VARYING, *(f"{side} {fact}" for side in _SIDES for fact in _FACTS))
}
"""Texts that no log has, by what they stand for."""
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
        self._line_of = json_of
        self._marks = {json_of(mark): slot for slot, mark in _MARKS.items()}
        self._templates: dict[Hashable, Template] = {}

    def of(self, commits: CommitsOfRun, store: HistoryStore, rows_of: RowsOf) -> pa.StringArray:
        """Return the line of each thing that happened; `rows_of` returns the fields of some of them, given their places."""
        keys = _keys(commits, store)
        distinct = list(keys.distinct(commits, store))
        if len(self._templates) > _KEPT:
            self._templates.clear()
        missing = {key: place for key, place in distinct if key not in self._templates}
        for key, row in zip(missing, rows_of(list(missing.values())), strict=True):
            self._templates[key] = cut_at(self._marks, f"{self._line_of(_marked(row))}\n")
        texts = self._texts(commits, store)
        templates = [self._templates[key] for key, _ in distinct]
        return filled(templates, keys.codes, lambda slot, places: texts[slot](places))

    def _texts(self, commits: CommitsOfRun, store: HistoryStore) -> dict[str, Callable[[Array], pa.Array]]:
        """Return by slot the function that returns what stands there, given the places of what happened."""
        subjects, groups = store.subjects, store.subjects.groups
        texts: dict[str, Callable[[Array], pa.Array]] = {
            "written_at": lambda at: self._times(commits.timestamps[at]),
            "timestamp": lambda at: number_texts(commits.timestamps[at]),
            "log_offset": lambda at: number_texts(commits.log_offsets[at]),
            "group": lambda at: self._json(groups.column(subjects.group_of[commits.subjects[at]])),
            "topic": lambda at: self._json(subjects.names_of(commits.subjects[at])[0]),
            "partition": lambda at: subjects.names_of(commits.subjects[at])[1].cast(pa.string()),
            "delta": lambda at: number_texts(deltas_of(commits.rows[at])[0]),
            "producer_id": lambda at: number_texts(
                subjects.producer_ids(commits.rows[at, FactCell.PRODUCER])
            ),
        }
        for side, rows in zip(_SIDES, (commits.before, commits.rows), strict=True):
            for fact, cell in _FACTS.items():
                texts[f"{side} {fact}"] = partial(self._facts, rows, cell, store)
        return texts

    def _facts(self, rows: Array, cell: FactCell, store: HistoryStore, places: Array) -> pa.Array:
        facts = rows[places, cell]
        return self._json(store.texts.column(facts)) if cell == FactCell.TEXT else number_texts(facts)

    def _json(self, texts: pa.Array) -> pa.Array:
        """Return the JSON of texts, which are as rows show them."""
        return written(texts, lambda text: self._json_of(from_shown(text)))

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


def _marked(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return a row with marks in the place of what varies."""
    marked: dict[str, Any] = {
        name: _MARKS[name] for name in _VARYING if row[name] is not None or name not in _OR_NULL
    }
    for side in _SIDES:
        if row[side] is not None:
            marked[side] = {**row[side], **{fact: _MARKS[f"{side} {fact}"] for fact in _FACTS}}
    return {**row, **marked}


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
    codes, firsts = classes([*columns, store.owners.of(rows[:, FactCell.OWNER])])
    return _Keys(codes, firsts.tolist(), columns)
