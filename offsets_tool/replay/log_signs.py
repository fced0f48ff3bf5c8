"""What one log partition says of its cluster, whatever lives in it: by whose rules offsets expire, up to when, and what is missing.

Counts only: of any number of records little is kept, unless each lasts for another time. Told of events, or of many at once.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from offsets_tool.events import Event
from offsets_tool.replay.as_of import timestamp_of

_COMMITS: Final = (0, 1)
_NONE: Final = -1


@dataclass(slots=True)
class LogSigns:
    """`seen`: types of keys that read with versions of values that do (None without). `lasting`: how many commits had each time
    from commit to expiry. `newest`: time of the newest record, epoch milliseconds."""

    seen: set[tuple[int, int | None]] = field(default_factory=set)
    lasting: Counter[int] = field(default_factory=Counter)
    newest: int | None = None
    proven_from: int = 0
    """From here on every record is there."""
    _next_offset: int = 0

    def see(self, event: Event) -> None:
        """One event."""
        self._reach(timestamp_of(event))
        if event.type_id is None or event.key is None:
            return
        value = event.value
        self.seen.add((event.type_id, value.version if value else None))
        if event.type_id in _COMMITS and value is not None and value.data.expire_timestamp != _NONE:
            self.lasting[value.data.expire_timestamp - value.data.commit_timestamp] += 1

    def see_many(
        self, seen: Iterable[tuple[int, int | None]], lasting: Mapping[int, int], newest: int | None
    ) -> None:
        """As if told of many events."""
        self.seen.update(seen)
        self.lasting.update(lasting)
        self._reach(newest)

    def see_offsets(self, first: int, last: int, behind_gap: int | None) -> None:
        """Records from one offset to another were there; the last of those that come behind a missing one, if any do."""
        if first != self._next_offset:
            self.proven_from = first
        if behind_gap is not None:
            self.proven_from = behind_gap
        self._next_offset = last + 1

    def _reach(self, timestamp: int | None) -> None:
        if timestamp is not None and (self.newest is None or timestamp > self.newest):
            self.newest = timestamp

    def pack(self) -> Any:
        """As JSON has it."""
        seen = sorted(([*each] for each in self.seen), key=repr)
        return [seen, sorted(self.lasting.items()), self.newest, self.proven_from, self._next_offset]

    @classmethod
    def unpack(cls, packed: Any) -> "LogSigns":
        """What `pack` gave."""
        seen, lasting, *others = packed
        known = {(type_id, version) for type_id, version in seen}
        return cls(known, Counter(dict(lasting)), *others)
