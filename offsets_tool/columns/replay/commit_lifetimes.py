"""Since when each held commit's group has had an offset there without a break: kept by column, as Lifetimes keeps it.

Only a subject's first commit, and one of a topic with another id, are looked at by themselves.
"""

from typing import Final

import numpy as np

from offsets_tool.columns.arrays import Array
from offsets_tool.columns.replay.held_commits import uuid_of
from offsets_tool.columns.replay.row_subjects import RowSubjects
from offsets_tool.expiry.lifetimes import Lifetime, Lifetimes, time_of
from offsets_tool.expiry.removals import may_be_one
from offsets_tool.replay.changes import CommittedOffset, OffsetOf
from offsets_tool.wire.json import uuid_text

_UNKNOWN: Final = -1
_NO_ID: Final[Array] = np.full((), None, object)
_FIRST_ROOM: Final = 1 << 10


class CommitLives:
    """Of one partition; by the numbers of subjects."""

    def __init__(self, subjects: RowSubjects, lives: Lifetimes) -> None:
        self._subjects = subjects
        self._lives = lives
        self._began: Array = np.zeros(_FIRST_ROOM, np.int64)
        self._ids: Array = np.full(_FIRST_ROOM, None, object)

    def make_room(self, many: int) -> None:
        """For so many subjects."""
        more = many - len(self._began)
        if more > 0:
            self._began = np.pad(self._began, (0, more))
            self._ids = np.concatenate((self._ids, np.full(more, None, object)))

    def fold(self, run: Array, begins: Array, held: Array, others: Array) -> None:
        """A run sorted by subject: where each subject begins, whether it is held already, and where inside it the id is another."""
        subjects, ids = run["subject"][begins], run["topic_id"][begins]
        goes_on = held.copy()
        for number in np.flatnonzero(~held).tolist():
            goes_on[number] = self._look_up(int(subjects[number]))
        was = self._ids[subjects]
        goes_on &= np.equal(was, ids) | np.equal(was, _NO_ID) | np.equal(ids, _NO_ID)
        self._began[subjects] = np.where(goes_on, self._began[subjects], _times(run[begins]))
        self._ids[subjects] = np.where(goes_on & np.equal(ids, _NO_ID), was, ids)
        for place in others.tolist():
            self._see_other(run[place : place + 1])

    def give(self, number: int, offset: OffsetOf, commit: CommittedOffset, timestamp: int) -> None:
        """A held commit to Lifetimes."""
        began, topic_id = int(self._began[number]), self._ids[number]
        lived = Lifetime(
            commit,
            None if began == _UNKNOWN else began,
            time_of(timestamp, commit.commit_timestamp),
            None if topic_id is None else uuid_of(topic_id),
        )
        self._lives.put(offset, lived)

    def _look_up(self, subject: int) -> bool:
        """Whether the next commit may go on with what is there."""
        lived = self._lives.get(self._subjects.offsets[subject])
        if lived is None or lived.doubtful:
            return False
        self._began[subject] = _UNKNOWN if lived.began_at is None else lived.began_at
        self._ids[subject] = None if lived.topic_id is None else uuid_text(lived.topic_id)
        return True

    def _see_other(self, one: Array) -> None:
        subject, topic_id = int(one["subject"][0]), one["topic_id"][0]
        was = self._ids[subject]
        if not may_be_one(was, topic_id):
            self._began[subject] = _times(one)[0]
        if topic_id is not None:
            self._ids[subject] = topic_id


def _times(commits: Array) -> Array:
    """As offset_lives.time_of."""
    at = np.where(commits["timestamp"] < 0, commits["commit_timestamp"], commits["timestamp"])
    return np.maximum(at, _UNKNOWN)
