"""What the records of a chunk did to committed offsets, by column: where rows of offset_history began and ended; and as JSON lines.

What one record did is in the order of Coordinator's changes: a marker ends pending commits in the order in which their transaction
first wrote of their offsets; a tombstone removes what is effective, and then what is pending, by producer. What a line says is not
known here: a template is made of the line of one change, as it is printed alone, with marks for numbers and names.
"""

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from functools import lru_cache, partial
from typing import Any, Final, NamedTuple
from uuid import uuid4

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from offsets_tool.columns.arrays import Array
from offsets_tool.columns.lines import Template, classes, cut_at, filled, number_texts, written
from offsets_tool.history.change_log import Happening, LinesAsked
from offsets_tool.history.rows import OffsetEndCause
from offsets_tool.relations.chunks import ReplayedChunk
from offsets_tool.relations.offsets import CAUSE, NEVER, Begun, Pieces, begun, order_of
from offsets_tool.relations.writes import NONE, REMOVALS, WriteReader, Writes
from offsets_tool.wire.text import from_shown

_EFFECTIVE_RANK: Final = np.iinfo(np.int64).min
"""Before all producer ids."""
Describe = Callable[["OffsetChanges"], Iterable[Happening]]
"""From what happened to how it is described."""
_TextsOf = Callable[[Array], pa.Array]
"""From the places of what happened to the texts that stand in a slot of their lines."""
_FACTS: Final = ("committed_offset", "leader_epoch", "commit_timestamp", "expire_timestamp")
"""The numbers of a commit that vary, as its text does."""
_SIDES: Final = ("before", "after")
_OR_NULL: Final = ("delta", "producer_id")
_VARYING: Final = ("written_at", "timestamp", "log_offset", "group", "topic", "partition", *_OR_NULL)
_MARKS: Final = {
    slot: f"{uuid4().hex} {slot}"
    for slot in (*_VARYING, *(f"{side} {fact}" for side in _SIDES for fact in (*_FACTS, "metadata")))
}
"""Texts that no log has, by what they stand for."""
_KEPT: Final = 100_000
"""How many templates are kept, and of how many values the JSON."""
_CALENDAR_END: Final = 253_402_300_800_000
"""Epoch milliseconds of the year 10000: times below have a text of as many characters."""
_TIME_LENGTH: Final = 23


class OffsetChanges(NamedTuple):
    """What records did to committed offsets, in the order of the log; rows of history by number."""

    place: Array
    """The place in the chunk of the record that did it."""
    log_offset: Array
    timestamp: Array
    row: Array
    """The row that began; where none did, the one that ended."""
    has_begun: Array
    before: Array
    """The row that ended; NONE for none."""
    cause: Array
    """How the row ended that did; of one that another replaced, anything."""
    rows: Begun

    def at(self, which: Array) -> "OffsetChanges":
        """Return some of them, by their places or by a mask."""
        fields: list[Any] = [*(column[which] for column in self[:-1]), self.rows]
        return OffsetChanges(*fields)


def seen(replayed: ReplayedChunk) -> Pieces:
    """Return the rows that were to be seen: not those of values that do not read, nor what one record both began and ended."""
    writes, pieces = replayed.chunk.writes, replayed.pieces
    ends = writes.log_offset[np.minimum(pieces.end, len(writes.action) - 1)]
    is_seen = (pieces.end == NEVER) | (pieces.cause == CAUSE[OffsetEndCause.ABSENT])
    is_seen |= writes.log_offset[pieces.begin] != ends
    is_seen &= writes.is_read[pieces.commit]
    return pieces if is_seen.all() else pieces.taken(is_seen)


def offset_changes(replayed: ReplayedChunk, pieces: Pieces, first_written: dict[int, int]) -> OffsetChanges:
    """Return what a chunk did to some offsets, given all rows of these that were to be seen.

    `first_written` says of an open commit, by its log offset, where its transaction first wrote of its offset, if it was not there;
    it is kept up to date.
    """
    writes = replayed.chunk.writes
    pieces, goes_on = _by_offset(writes, pieces)
    began = np.flatnonzero(pieces.begin >= writes.carried)
    # The effective row tells of a commit that took effect.
    is_over = (pieces.end != NEVER) & (pieces.cause != CAUSE[OffsetEndCause.COMMITTED])
    is_over[:-1] &= ~goes_on[1:]
    ended = np.flatnonzero(is_over)
    row = np.concatenate((began, ended))
    place = np.concatenate((pieces.begin[began], pieces.end[ended]))
    if not pieces.is_effective.all():
        commit = pieces.commit[row]
        rank = _first_written(writes, pieces, goes_on, first_written)[commit]
        of_removal = np.where(pieces.is_effective[row], _EFFECTIVE_RANK, writes.producer[commit])
        order = np.argsort(np.where(np.isin(writes.action[place], REMOVALS), of_removal, rank))
        row, place = row[order], place[order]
    order = order_of(place)
    row, place = row[order], place[order]
    has_begun = pieces.begin[row] == place
    # What was revealed and replaced at once by what does not read, has not begun.
    is_unread = pieces.cause == CAUSE[OffsetEndCause.REVEALED]
    return OffsetChanges(
        place,
        writes.log_offset[place],
        writes.timestamp[place],
        row,
        has_begun,
        np.where(has_begun, np.where(goes_on[row], row - 1, NONE), row),
        np.where(is_unread, CAUSE[OffsetEndCause.UNREAD], pieces.cause)[row],
        begun(writes, replayed.chunk.past, pieces, replayed.owners),
    )


def _by_offset(writes: Writes, pieces: Pieces) -> tuple[Pieces, Array]:
    """Return rows by offset, those of pending commits by producer too, and which begin with the end of the row before."""
    subject, pending = writes.subject[pieces.commit], np.flatnonzero(~pieces.is_effective)
    if len(pending):
        producers = np.unique(writes.producer[pieces.commit[pending]], return_inverse=True)[1]
        subject[pending] += (producers + 1) * (subject.max() + 1)
    is_same = subject[1:] == subject[:-1]
    if ((subject[1:] < subject[:-1]) | (is_same & (pieces.begin[1:] < pieces.begin[:-1]))).any():
        order = np.lexsort((pieces.begin, subject))
        pieces, subject = pieces.taken(order), subject[order]
        is_same = subject[1:] == subject[:-1]
    goes_on = is_same & (pieces.end[:-1] == pieces.begin[1:])
    return pieces, np.append(False, goes_on)[: len(subject)]


def _first_written(writes: Writes, pieces: Pieces, goes_on: Array, known: dict[int, int]) -> Array:
    """Return by place the log offset at which a pending commit's transaction first wrote of its offset; learn it of open ones."""
    pending = np.flatnonzero(~pieces.is_effective)
    firsts = np.maximum.accumulate(np.where(goes_on, 0, np.arange(len(goes_on))))[pending]
    commits, first_commits = pieces.commit[pending], pieces.commit[firsts]
    first_written = writes.commit_log_offset.copy()
    first_written[commits] = [known.get(first, first) for first in first_written[first_commits].tolist()]
    facts = writes.commit_log_offset[commits], first_written[commits], pieces.end[pending]
    for commit, first, end in zip(*map(np.ndarray.tolist, facts), strict=True):
        if end != NEVER:
            known.pop(commit, None)
        elif first != commit:
            known[commit] = first
    return first_written


class CommitLines:
    """Makes the lines of what happened, with a template for each owner and whatever else does not vary."""

    def __init__(self, asked: LinesAsked, reader: WriteReader) -> None:
        """Start without templates; `reader` knows what numbers of writes mean."""
        self._asked, self._reader = asked, reader
        # Names and values repeat, and 1 is not True.
        self._json_of = lru_cache(_KEPT, typed=True)(asked.json_of)
        self._marks = {asked.json_of(mark): slot for slot, mark in _MARKS.items()}
        self._templates: dict[Hashable, Template] = {}

    def of(self, changes: OffsetChanges, after_gap: int | None, describe: Describe) -> pa.StringArray:
        """Return the line of each thing that happened; `after_gap` is the first offset behind a missing record."""
        columns = _alike(changes, after_gap)
        codes, firsts = classes(columns)
        keys = list(zip(*(column[firsts].tolist() for column in columns), strict=True))
        if len(self._templates) > _KEPT:
            self._templates.clear()
        missing = [place for place, key in enumerate(keys) if key not in self._templates]
        for place, happening in zip(missing, describe(changes.at(firsts[missing])), strict=True):
            line = self._asked.json_of(_marked(self._asked.row_of(happening)))
            self._templates[keys[place]] = cut_at(self._marks, f"{line}\n")
        texts = dict(self._texts(changes))
        return filled([self._templates[key] for key in keys], codes, lambda slot, places: texts[slot](places))

    def _texts(self, changes: OffsetChanges) -> Iterator[tuple[str, _TextsOf]]:
        """Yield for each slot the function that returns what stands there."""
        subjects, rows, row = self._reader.subjects, changes.rows.rows, changes.row
        deltas = rows.committed_offset - changes.rows.past.before
        yield "written_at", lambda places: self._times(changes.timestamp[places])
        yield "timestamp", lambda places: number_texts(changes.timestamp[places])
        yield "log_offset", lambda places: number_texts(changes.log_offset[places])
        yield "group", lambda places: self._json(subjects.groups.column(rows.group[row[places]]))
        yield "topic", lambda places: self._json(subjects.names_of(rows.subject[row[places]])[0])
        yield "partition", lambda places: number_texts(subjects.partitions_of(rows.subject[row[places]]))
        yield "delta", lambda places: number_texts(deltas[row[places]])
        yield "producer_id", lambda places: number_texts(rows.producer[row[places]])
        for side, numbers in zip(_SIDES, (changes.before, row), strict=True):
            for fact in _FACTS:
                yield f"{side} {fact}", partial(_facts, getattr(rows, fact), numbers)
            yield f"{side} metadata", partial(self._metadata, rows.text, numbers)

    def _metadata(self, texts: Array, numbers: Array, places: Array) -> pa.Array:
        return self._json(self._reader.metadata.column(texts[numbers[places]]))

    def _json(self, texts: pa.Array) -> pa.Array:
        """Return the JSON of texts, which are as rows show them."""
        return written(texts, lambda text: self._json_of(from_shown(text)))

    def _times(self, times: Array) -> pa.Array:
        """Return times of records in JSON."""
        if len(times) and (times.min() < 0 or times.max() >= _CALENDAR_END):
            texts = (self._json_of(self._asked.time_of(time)) for time in times.tolist())
            return pa.array(texts, pa.string())
        texts = pa.array(times, pa.timestamp("ms")).cast(pa.string())
        characters = np.frombuffer(texts.buffers()[2], np.uint8, len(times) * _TIME_LENGTH)
        shaped = characters.reshape(len(times), _TIME_LENGTH).copy()
        shaped[:, 10] = ord("T")
        iso = pa.StringArray.from_buffers(len(times), texts.buffers()[1], pa.py_buffer(shaped))
        return pc.binary_join_element_wise(pa.scalar('"'), iso, pa.scalar('Z"'), "")


def _facts(facts: Array, numbers: Array, places: Array) -> pa.Array:
    return number_texts(facts[numbers[places]])


def _marked(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of a line with marks in the place of what varies."""
    marked: dict[str, Any] = {
        name: _MARKS[name] for name in _VARYING if fields[name] is not None or name not in _OR_NULL
    }
    for side in _SIDES:
        if fields[side] is not None:
            facts = {fact: _MARKS[f"{side} {fact}"] for fact in (*_FACTS, "metadata")}
            marked[side] = {**fields[side], **facts}
    return {**fields, **marked}


def _alike(changes: OffsetChanges, after_gap: int | None) -> list[Array]:
    """Return numbers in which two lines of one template do not differ; of those that vary, what a label may depend on."""
    (rows, past), row = changes.rows, changes.row
    has_delta = (past.before >= 0) & (rows.committed_offset >= 0)
    is_behind_gap = rows.commit_log_offset >= (np.inf if after_gap is None else after_gap)
    of_rows = (
        has_delta,
        has_delta & (rows.committed_offset < past.before),
        is_behind_gap,
        rows.producer == NONE,
        rows.action,
        past.visibility,
        past.noop != NONE,
        past.owner,
    )
    has_before = changes.before != NONE
    of_before = (column[changes.before] * has_before for column in (rows.action, past.visibility))
    cause = np.where(changes.has_begun, NONE, changes.cause)
    return [has_before, changes.has_begun, cause, *of_before, *(column[row] for column in of_rows)]
