"""Rows of member_history of classic groups whose generations are replayed at once: those that hold; as columns, those that ended.

What a member says is kept once for all rows that say it: a group that rebalances often gives out the same assignments again. Which
rows end, and why, is decided by replay.classic and history.end_causes.
"""

from collections.abc import Iterable
from typing import Final

import numpy as np
import pyarrow as pa

from offsets_tool.columns.arrays import Array
from offsets_tool.history.end_causes import BatchOutcome
from offsets_tool.history.history import History
from offsets_tool.history.row_builders import member_row
from offsets_tool.history.rows import MemberEndCause, MemberHistoryRow
from offsets_tool.replay.changes import Change, Group, Member, MemberOf
from offsets_tool.replay.classic import Generation
from offsets_tool.wire.arrow import arrow_schema, shown_batch

_SCHEMA: Final = arrow_schema(MemberHistoryRow)
_CAUSES: Final = tuple(MemberEndCause)
_NUMBERS: Final = {cause: number for number, cause in enumerate(_CAUSES)}
_CHANGED: Final = _NUMBERS[MemberEndCause.CHANGED]
_NONE: Final = -(1 << 63)
"""Stands for no generation."""
_FEW: Final = 4096
"""So many sayings are kept without a look at which still hold."""
_COPIED: Final = {"from_log_offset": 1, "from_timestamp": 2, "to_log_offset": 4, "to_timestamp": 5}
"""Columns by their place in a row that ended; 0 has what the member said, 3 the generation, 6 the cause."""

_OpenRow = tuple[int, int, int, int]
"""What the member said, by number; log offset and time at which that began, and the generation."""


class _OfGroup:
    """The open rows of one group by member id, and the numbers of what its members said, by the identity of their part of a record.

    That part is kept too, so that nothing else gets its identity.
    """

    __slots__ = ("numbers", "open")

    def __init__(self) -> None:
        self.open: dict[str, _OpenRow] = {}
        self.numbers: dict[tuple[int, str | None], tuple[int, Member]] = {}


class GenerationMembers:
    """Rows of the members of some groups, which History has for all other groups."""

    def __init__(self, history: History) -> None:
        """Start without groups."""
        self._history = history
        self._groups: dict[str, _OfGroup] = {}
        self._said: list[MemberHistoryRow] = []
        """What members said, each as the first row that said it."""
        self._ended: list[tuple[int, ...]] = []

    def replay(self, change: Change, made: Generation, before: Iterable[str]) -> None:
        """End and begin the rows of a generation's members; `change` is that of their group, `before` are its members so far."""
        name, at, when = made.after.group, change.log_offset, change.timestamp
        of_group = self._groups.get(name) or self._take(name, before)
        outcome = BatchOutcome((change,))
        outcome.observe_instances(name, made.written)
        generation = _NONE if made.after.generation is None else made.after.generation
        open_, ended = of_group.open, self._ended
        for member_id, cause in zip(made.gone, outcome.ends_of_gone(name, made.gone), strict=True):
            ended.append((*open_.pop(member_id), at, when, _NUMBERS[cause]))
        for member_id, member in made.written.items():
            if member_id in open_:
                ended.append((*open_.pop(member_id), at, when, _CHANGED))
            said = self._number(of_group, change, member_id, member, made.after)
            open_[member_id] = (said, at, when, generation)

    def give_back(self, name: str) -> None:
        """Give the open rows of a group back to History, if they are here."""
        of_group = self._groups.pop(name, None)
        for member_id, (said, at, when, generation) in of_group.open.items() if of_group else ():
            row = self._said[said]._replace(
                generation=None if generation == _NONE else generation,
                from_log_offset=at,
                from_timestamp=when,
            )
            self._history.put_row(MemberOf(name, member_id), row)

    def give_all_back(self) -> None:
        """Give all open rows back to History."""
        for name in list(self._groups):
            self.give_back(name)

    def take_ended(self) -> list[pa.RecordBatch]:
        """Return, once, the rows that ended."""
        if not self._ended:
            return []
        lines: Array = np.array(self._ended, np.int64)
        self._ended.clear()
        distinct, which = np.unique(lines[:, 0], return_inverse=True)
        said = shown_batch(MemberHistoryRow, [self._said[number] for number in distinct.tolist()])
        rows = said.take(pa.array(which))
        columns = {name: pa.array(np.ascontiguousarray(lines[:, cell])) for name, cell in _COPIED.items()}
        columns["generation"] = pa.array(lines[:, 3], mask=lines[:, 3] == _NONE).cast(pa.int32())
        columns["end_cause"] = pa.array(_CAUSES, pa.string()).take(
            pa.array(np.ascontiguousarray(lines[:, 6]))
        )
        self._forget()
        return [
            pa.record_batch([columns.get(name, rows.column(name)) for name in _SCHEMA.names], schema=_SCHEMA)
        ]

    def _take(self, name: str, members: Iterable[str]) -> _OfGroup:
        """Take the open rows of a group from History."""
        of_group = self._groups[name] = _OfGroup()
        for member_id in members:
            row = self._history.take_member(MemberOf(name, member_id))
            generation = _NONE if row.generation is None else row.generation
            of_group.open[member_id] = (self._add(row), row.from_log_offset, row.from_timestamp, generation)
        return of_group

    def _number(
        self, of_group: _OfGroup, change: Change, member_id: str, member: Member, group: Group
    ) -> int:
        key = id(member.metadata), group.protocol_type
        found = of_group.numbers.get(key)
        if found is None:
            subject = MemberOf(group.group, member_id)
            row = member_row(change, subject, member, group, self._history.name_of)
            found = of_group.numbers[key] = self._add(row), member
        return found[0]

    def _add(self, row: MemberHistoryRow) -> int:
        self._said.append(row)
        return len(self._said) - 1

    def _forget(self) -> None:
        """Forget what members said that no open row says, if it is much, and number the rest anew."""
        if len(self._said) < _FEW + 2 * sum(len(of_group.open) for of_group in self._groups.values()):
            return
        before, self._said = self._said, []
        for of_group in self._groups.values():
            anew = {row[0]: 0 for row in of_group.open.values()}
            anew = {number: self._add(before[number]) for number in anew}
            of_group.open = {name: (anew[row[0]], *row[1:]) for name, row in of_group.open.items()}
            of_group.numbers = {
                key: (anew[number], member)
                for key, (number, member) in of_group.numbers.items()
                if number in anew
            }
