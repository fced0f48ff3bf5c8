"""The history of plain commits by column: what a run of them ends and begins, until somebody looks at one of their offsets.

What holds is kept as facts; `settle` makes of it what History, State and Lifetimes have. Owners are asked once for each committed
offset and change of its group. Refuses to know any record but plain commits of groups that are there.
"""

from collections.abc import Iterable, Sequence
from typing import Final
from uuid import UUID

import numpy as np
import pyarrow as pa

from offsets_tool.columns.arrays import Array
from offsets_tool.columns.differences import differences
from offsets_tool.columns.replay.commit_facts import FACTS, Surroundings, ended_rows
from offsets_tool.columns.replay.commit_lifetimes import CommitLives
from offsets_tool.columns.replay.held_commits import uuid_of
from offsets_tool.columns.replay.row_subjects import RowSubjects
from offsets_tool.expiry.lifetimes import Lifetimes
from offsets_tool.history.history import History
from offsets_tool.history.owners import Owner
from offsets_tool.history.rows import OffsetEndCause, OffsetHistoryRow
from offsets_tool.replay.changes import Change, ChangeKind, CommittedOffset, OffsetOf, TopicPartition
from offsets_tool.replay.state import State
from offsets_tool.wire.longs import difference
from offsets_tool.wire.text import from_shown

_FIRST_ROOM: Final = 1 << 10


class CommitHistory:
    """Of one partition. `fold` takes runs, those of a group in the order of their offsets."""

    def __init__(
        self,
        log_partition: int | None,
        subjects: RowSubjects,
        state: State,
        history: History,
        lives: Lifetimes,
    ) -> None:
        self._log_partition = log_partition
        self._subjects = subjects
        self._state = state
        self._history = history
        self._lives = CommitLives(subjects, lives)
        self._held: Array = np.zeros(_FIRST_ROOM, FACTS)
        self._waiting: Array = np.zeros(_FIRST_ROOM, bool)
        self._owners: list[Owner] = []
        self._owner_numbers: dict[Owner, int] = {}
        self._owned: Array = np.zeros(_FIRST_ROOM, bool)
        """Whether the owner in `_held` is still the owner."""

    def fold(self, run: Array) -> tuple[pa.RecordBatch | None, list[OffsetHistoryRow]]:
        """The rows that plain commits ended: those that began here, and those that History had."""
        if not len(run):
            return None, []
        self._make_room()
        run = run[np.argsort(run["subject"], kind="stable")]
        begins = np.flatnonzero(np.diff(run["subject"], prepend=-1))
        is_first = np.zeros(len(run), bool)
        is_first[begins] = True
        is_other = np.roll(run["topic_id"], 1) != run["topic_id"]
        is_held = self._waiting[run["subject"][begins]]
        self._lives.fold(run, begins, is_held, np.flatnonzero(is_other & ~is_first))
        self._find_owners(run, is_first, is_other)
        known = begins[is_held]
        told = [row for place in np.setdiff1d(begins, known).tolist() if (row := self._taken(run, place))]
        inside = np.flatnonzero(~is_first)
        held, after = self._held[run["subject"][known]], np.concatenate((known, inside))
        committed = run["committed_offset"]
        run["delta"][known] = differences(committed[known], held["committed_offset"])
        run["delta"][inside] = differences(committed[inside], committed[inside - 1])
        run["has_delta"][after] = True
        before = np.concatenate((held, run[inside - 1]))
        last = np.append(begins[1:], len(run)) - 1
        self._held[run["subject"][last]] = run[last]
        self._waiting[run["subject"][last]] = True
        around = Surroundings(self._log_partition, self._subjects, self._owners, self._history.after_gap)
        return ended_rows(before, run[after], around), told

    def changed(self, group: str) -> None:
        """Tells that owners in a group may be others from now on."""
        number = self._subjects.group_number(group)
        if number is not None:
            self._make_room()
            self._owned[self._subjects.of_group[number]] = False

    def settle(self) -> None:
        """Gives State, History and Lifetimes everything that is held."""
        self._settle(np.flatnonzero(self._waiting))

    def settle_some(self, group: str, offsets: Iterable[OffsetOf]) -> None:
        """Gives them these offsets of a group; all of the group if it would have no others then."""
        number = self._subjects.group_number(group)
        if number is None:
            return
        self._make_room()
        numbers = (self._subjects.number(offset) for offset in offsets)
        wanted = {number for number in numbers if number is not None}
        is_enough = len(self._state.offsets.get(group, ())) > len(wanted)
        some = sorted(wanted) if is_enough else self._subjects.of_group[number]
        self._settle_those(some)

    def settle_group(self, group: str) -> None:
        """Gives them all offsets of a group."""
        number = self._subjects.group_number(group)
        if number is not None:
            self._make_room()
            self._settle_those(self._subjects.of_group[number])

    def _settle_those(self, some: Sequence[int]) -> None:
        subjects = np.array(some, np.int64)
        self._settle(subjects[self._waiting[subjects]])

    def _taken(self, run: Array, place: int) -> OffsetHistoryRow | None:
        """The row of History that a subject's first commit ends."""
        facts = run[place]
        before = self._history.take_offset(self._subjects.offsets[facts["subject"]])
        if before is None:
            return None
        run["delta"][place] = difference(int(facts["committed_offset"]), before.committed_offset)
        run["has_delta"][place] = True
        at, when = int(facts["log_offset"]), int(facts["timestamp"])
        return before._replace(to_log_offset=at, to_timestamp=when, end_cause=OffsetEndCause.SUPERSEDED)

    def _find_owners(self, run: Array, is_first: Array, is_other: Array) -> None:
        """Of each commit; asked where the subject's group, or the topic's id, is not as before."""
        firsts = run["subject"][is_first]
        asked = is_other.copy()
        asked[is_first] = self._held["topic_id"][firsts] != run["topic_id"][is_first]
        asked |= is_first & ~self._owned[run["subject"]]
        numbers = run["owner"]
        numbers[is_first] = self._held["owner"][firsts]
        for place in np.flatnonzero(asked).tolist():
            numbers[place] = self._owner(int(run["subject"][place]), run["topic_id"][place])
        # What was not asked has the owner of the commit before it.
        known = np.where(asked | is_first, np.arange(len(run)), 0)
        run["owner"] = numbers[np.maximum.accumulate(known)]
        self._owned[firsts] = True

    def _owner(self, subject: int, topic_id: str | None) -> int:
        offset = self._subjects.offsets[subject]
        at = TopicPartition(offset.topic, offset.partition)
        owner = self._history.owner(offset.group, at, _uuid(topic_id))
        number = self._owner_numbers.setdefault(owner, len(self._owners))
        if number == len(self._owners):
            self._owners.append(owner)
        return number

    def _settle(self, subjects: Array) -> None:
        if not len(subjects):
            return
        self._waiting[subjects] = False
        for number, facts in zip(subjects.tolist(), self._held[subjects], strict=True):
            offset = self._subjects.offsets[number]
            commit = CommittedOffset(
                int(facts["committed_offset"]),
                int(facts["leader_epoch"]),
                from_shown(facts["metadata"]),
                int(facts["commit_timestamp"]),
                int(facts["expire_timestamp"]),
                _uuid(facts["topic_id"]),
                int(facts["log_offset"]),
            )
            self._state.put(offset, commit)
            delta = int(facts["delta"]) if facts["has_delta"] else None
            owner = self._owners[facts["owner"]]
            at, when = commit.log_offset, int(facts["timestamp"])
            change = Change(self._log_partition, at, when, at, ChangeKind.SET, offset, None, commit)
            self._history.put_offset(offset, change, commit, owner, delta)
            self._lives.give(number, offset, commit, when)

    def _make_room(self) -> None:
        more = len(self._subjects.offsets) - len(self._waiting)
        if more > 0:
            more = max(more, len(self._waiting))
            self._held = np.concatenate((self._held, np.zeros(more, FACTS)))
            self._waiting, self._owned = (np.pad(each, (0, more)) for each in (self._waiting, self._owned))
            self._lives.make_room(len(self._waiting))


def _uuid(topic_id: str | None) -> UUID | None:
    return None if topic_id is None else uuid_of(topic_id)
