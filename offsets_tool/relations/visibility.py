"""Which committed offsets a coordinator answers with: while a group is not there, the offsets that it left are hidden.

Only the new coordinator keeps offsets of a group that it has deleted (OffsetMetadataManager). Few groups ever leave any: their rows
are cut one by one.
"""

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from offsets_tool.columns.arrays import Array
from offsets_tool.history.rows import OffsetEndCause
from offsets_tool.relations.groups import GroupEvent, ValueChange
from offsets_tool.relations.kafka_writes import GroupEnd
from offsets_tool.relations.offsets import CAUSE, HIDDEN, PLAIN, REVEALED, Pieces
from offsets_tool.relations.writes import NONE, Writes
from offsets_tool.replay.changes import GroupOf


class Turn(NamedTuple):
    """The place where a group came (`is_end` is False) or went, and the number of Kafka's write that it is a part of.

    `lasts` says whether the same write did not bring it back.
    """

    place: int
    write: int
    is_end: bool
    lasts: bool


class Presence(NamedTuple):
    """When a group was there: whether before the chunk, and where it came and went."""

    is_there: bool
    turns: Sequence[Turn]

    def hides(self, place: int, write: int) -> bool:
        """Return whether what takes effect at a place is hidden: the group is not there, and not behind its write either."""
        before = [turn for turn in self.turns if turn.place <= place]
        after = [turn for turn in self.turns if turn.place > place and turn.write == write]
        is_absent = before[-1].is_end if before else not self.is_there
        return is_absent and (not after or after[-1].is_end)


def presences(
    of_groups: Sequence[GroupEvent | ValueChange],
    numbers: Array,
    ends: Sequence[GroupEnd],
    was_there: Collection[str],
) -> dict[str, Presence]:
    """Return when groups were there, of all that came or went; `numbers` are those of Kafka's writes by place."""
    gone = {(end.write, end.group) for end in ends}
    turns = defaultdict[str, list[Turn]](list)
    for event in of_groups:
        place = event.place
        if isinstance(event, ValueChange):
            if event.before is None:
                turns[event.group.group].append(Turn(place, int(numbers[place]), is_end=False, lasts=False))
            continue
        for change in event.changes:
            is_turn = (change.before is None) != (change.after is None)
            if isinstance(change.subject, GroupOf) and is_turn and not change.is_anomaly:
                group, write = change.subject.group, int(numbers[place])
                turns[group].append(Turn(place, write, change.after is None, (write, group) in gone))
    return {group: Presence(group in was_there, made) for group, made in turns.items()}


def late(writes: Writes, pieces: Pieces) -> Array:
    """Return which rows begin with a marker: only these may begin where their group is not there."""
    is_late: Array = pieces.is_effective & (pieces.begin >= writes.carried) & (pieces.begin != pieces.commit)
    return is_late


def with_visibility(
    writes: Writes, pieces: Pieces, visibility: Array, of_groups: Mapping[int, Presence], of_writes: Array
) -> Pieces:
    """Return rows, cut where their groups come and go.

    `visibility` is that of the open rows of earlier chunks, `of_groups` has, by number, the groups that hid any or may do so, and
    `of_writes` are the numbers of Kafka's writes by place.
    """
    if (visibility != PLAIN).any():
        is_open = pieces.begin < writes.carried
        began = np.append(visibility, PLAIN)[np.where(is_open, pieces.begin, writes.carried)]
        pieces = pieces._replace(visibility=began)
    if not of_groups:
        return pieces
    rows = np.flatnonzero(pieces.is_effective & np.isin(writes.group[pieces.commit], list(of_groups)))
    is_absent, is_ended = _turns_of(pieces.taken(rows), writes.group[pieces.commit[rows]], of_groups)
    is_late = late(writes, pieces)[rows] & is_absent
    concerned = is_late | is_ended | (pieces.visibility[rows] == HIDDEN)
    if not concerned.any():
        return pieces
    rows = rows[concerned]
    cut = [
        part
        for row, group, begins_late in zip(
            zip(*(column.tolist() for column in pieces.taken(rows)), strict=True),
            writes.group[pieces.commit[rows]].tolist(),
            is_late[concerned].tolist(),
            strict=True,
        )
        for part in _parts(
            row, of_groups[group], begins_late and of_groups[group].hides(row[1], int(of_writes[row[1]]))
        )
    ]
    others = pieces.taken(np.delete(np.arange(len(pieces.commit)), rows))
    columns = (np.array(column, of.dtype) for column, of in zip(zip(*cut, strict=True), pieces, strict=True))
    return Pieces(*map(np.concatenate, zip(others, columns, strict=True)))


def _turns_of(pieces: Pieces, groups: Array, of_groups: Mapping[int, Presence]) -> tuple[Array, Array]:
    """Return which rows begin where their groups are not there, and which have a group that goes before they end.

    A group's coming at the row's own place counts as before it.
    """
    turns = [
        (group, turn.place, turn.is_end) for group in sorted(of_groups) for turn in of_groups[group].turns
    ]
    of_turns, places, is_end = np.array(turns, np.int64).reshape(-1, 3).T
    span = int(max(pieces.begin.max(initial=0), places.max(initial=0))) + 2
    keys, begins = of_turns * span + places, groups * span + pieces.begin
    was_there = np.isin(groups, [group for group, presence in of_groups.items() if presence.is_there])
    before = np.searchsorted(keys, begins, "right") - 1
    has_turned = (before >= 0) & (np.append(of_turns, NONE)[before] == groups)
    is_absent = np.where(has_turned, np.append(is_end, False)[before] != 0, ~was_there)
    ends = keys[is_end != 0]
    goes_in = np.searchsorted(ends, groups * span + np.minimum(pieces.end, span - 1)) > np.searchsorted(
        ends, begins, "right"
    )
    return is_absent, goes_in


def _parts(row: tuple[int, ...], presence: Presence, is_hidden: bool) -> Iterator[tuple[int, ...]]:
    """Yield a row of an effective commit in the parts in which it is visible or not; it may begin as one that is hidden."""
    commit, begin, end, cause, previous, noop, is_effective, visibility = row
    if is_hidden:
        visibility = HIDDEN
    for place, _, is_end, lasts in presence.turns:
        # A commit that brings its group back reveals the offset before it replaces it.
        is_within = begin < place < end + (not is_end)
        if is_within and (lasts if is_end else visibility == HIDDEN):
            how = CAUSE[OffsetEndCause.HIDDEN if is_end else OffsetEndCause.REVEALED]
            yield commit, begin, place, how, previous, noop, is_effective, visibility
            begin, visibility = place, HIDDEN if is_end else REVEALED
    yield commit, begin, end, cause, previous, noop, is_effective, visibility
