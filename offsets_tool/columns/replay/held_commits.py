"""The newest plain commit of each committed offset, in columns, until somebody looks: then it becomes part of the State.

Runs of commits cost a few operations on columns; objects are made only of what is still there when its group is looked at.
Knows which commits came last, and nothing of what else a log holds.
"""

from collections.abc import Sequence
from functools import lru_cache
from typing import Final, NamedTuple
from uuid import UUID

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from offsets_tool.columns.arrays import Array
from offsets_tool.columns.replay.plain_commits import Subjects
from offsets_tool.columns.replay.row_events import plain
from offsets_tool.replay.changes import CommittedOffset
from offsets_tool.replay.offsets import simple_group
from offsets_tool.replay.state import State
from offsets_tool.wire.json import parse_uuid
from offsets_tool.wire.schema import ZERO_UUID
from offsets_tool.wire.text import from_shown

_NUMBERS: Final = ("committed_offset", "leader_epoch", "commit_timestamp", "expire_timestamp", "log_offset")
_LOG_OFFSET: Final = _NUMBERS.index("log_offset")
_FIRST_ROOM: Final = 1 << 10


class Commits(NamedTuple):
    """Plain commits in the order of their offsets: their subjects, the columns _NUMBERS, and metadata and topic ids as objects."""

    subjects: Array
    numbers: Array
    metadata: Array
    topic_ids: Array

    @classmethod
    def of(cls, rows: pa.RecordBatch, places: Array, subjects: Array) -> "Commits":
        """Those in the rows at these places."""
        at = pa.array(places)
        columns = [rows.column(name).take(at).to_numpy(zero_copy_only=False) for name in _NUMBERS]
        metadata, topic_ids = (rows.column(name).take(at) for name in ("metadata", "topic_id"))
        return cls(subjects, np.array(columns, np.int64), _texts(metadata), _uuids(topic_ids))

    def part(self, which: Array | slice) -> "Commits":
        """Some of them."""
        return Commits(
            self.subjects[which], self.numbers[:, which], self.metadata[which], self.topic_ids[which]
        )


class HeldCommits:
    """Of one partition. Commits are held in the order of their offsets; `settle` gives the state what it has not yet."""

    def __init__(self, subjects: Subjects, state: State) -> None:
        self._subjects = subjects
        self._state = state
        self._scratch: Array = np.zeros(_FIRST_ROOM, np.int64)
        self._kept = Commits(
            np.arange(_FIRST_ROOM),
            np.zeros((len(_NUMBERS), _FIRST_ROOM), np.int64),
            np.full(_FIRST_ROOM, "", object),
            np.full(_FIRST_ROOM, None, object),
        )
        self._waiting: Array = np.zeros(_FIRST_ROOM, bool)

    def hold_rows(self, rows: pa.RecordBatch, places: Array, subjects: Array) -> None:
        """The plain commits at these places, of these subjects; only the newest of each are taken out of their columns."""
        if len(places):
            self._begin_groups(subjects, rows.column("log_offset").to_numpy()[places])
            newest = self._newest(subjects)
            self._keep(Commits.of(rows, places[newest], subjects[newest]))

    def hold(self, group: int, commits: Commits) -> None:
        """These commits of a group."""
        if len(commits.subjects):
            name = self._subjects.groups[group]
            if name not in self._state.groups:
                self._state.groups[name] = simple_group(name, int(commits.numbers[_LOG_OFFSET, 0]))
            self._keep(commits.part(self._newest(commits.subjects)))

    def settle(self) -> None:
        """Gives the state all commits that are held."""
        self._settle(np.flatnonzero(self._waiting))

    def settle_some(self, group: int, subjects: Sequence[int | None]) -> None:
        """Gives the state those that are held of these subjects of a group; of the whole group if it would have no others then."""
        there = self._state.offsets.get(self._subjects.groups[group], ())
        some = [number for number in subjects if number is not None]
        known = np.array(some if len(there) > len(subjects) else self._subjects.of_group[group], np.int64)
        self._settle(known[self._waiting[known]])

    def settle_group(self, group: int) -> None:
        """Gives the state all commits of a group that are held."""
        known = np.array(self._subjects.of_group[group], np.int64)
        self._settle(known[self._waiting[known]])

    def _newest(self, subjects: Array) -> Array:
        """Of each subject, the place of its last."""
        order = np.arange(len(subjects))
        # The last of several for the same cell stays.
        self._scratch[subjects] = order
        return np.flatnonzero(self._scratch[subjects] == order)

    def _begin_groups(self, subjects: Array, log_offsets: Array) -> None:
        """A group that is not there begins with its first commit (replay.offsets)."""
        numbers = self._subjects.group_of[subjects]
        first = len(numbers) - 1 - self._newest(numbers[::-1])
        groups, there = self._subjects.groups, self._state.groups
        names = [groups[number] for number in numbers[first].tolist()]
        if any(name not in there for name in names):
            for name, log_offset in zip(names, log_offsets[first].tolist(), strict=True):
                if name not in there:
                    there[name] = simple_group(name, log_offset)

    def _keep(self, newest: Commits) -> None:
        at = newest.subjects
        self._kept.numbers[:, at] = newest.numbers
        self._kept.metadata[at] = newest.metadata
        self._kept.topic_ids[at] = newest.topic_ids
        self._waiting[at] = True

    def _settle(self, subjects: Array) -> None:
        if not len(subjects):
            return
        self._waiting[subjects] = False
        kept, known = self._kept.part(subjects), self._subjects.subjects
        rows = zip(
            kept.subjects.tolist(),
            *kept.numbers.tolist(),
            kept.metadata.tolist(),
            kept.topic_ids.tolist(),
            strict=True,
        )
        for number, committed, leader_epoch, at, expires, log_offset, metadata, topic_id in rows:
            group, place = known[number]
            self._state.offsets.setdefault(group, {})[place] = CommittedOffset(
                committed, leader_epoch, metadata, at, expires, topic_id, log_offset
            )

    def make_room(self) -> None:
        """For all subjects that there are: to be called before any of them is used."""
        needed, have = len(self._subjects.subjects), len(self._waiting)
        if needed <= have:
            return
        more = max(needed, 2 * have) - have
        kept = self._kept
        self._kept = Commits(
            np.arange(have + more),
            numbers=np.pad(kept.numbers, ((0, 0), (0, more))),
            metadata=np.concatenate((kept.metadata, np.full(more, "", object))),
            topic_ids=np.concatenate((kept.topic_ids, np.full(more, None, object))),
        )
        self._waiting = np.pad(self._waiting, (0, more))
        self._scratch = np.pad(self._scratch, (0, more))


def _texts(column: pa.Array) -> Array:
    """Most commits have no metadata at all."""
    made = np.full(len(column), "", object)
    if pc.sum(pc.binary_length(column)).as_py():
        made[:] = [from_shown(text) for text in column.to_pylist()]
    return made


def _uuids(column: pa.Array) -> Array:
    made = np.full(len(column), None, object)
    texts = plain(column)
    if len(pc.unique(texts)) > 1 or (len(texts) and uuid_of(texts[0].as_py())):
        made[:] = [uuid_of(text) for text in texts.to_pylist()]
    return made


@lru_cache(1 << 12)
def uuid_of(text: str) -> UUID | None:
    """The id that wire.json.uuid_text shows; None for the one that stands for none."""
    topic_id = parse_uuid(text)
    return None if topic_id == ZERO_UUID else topic_id
