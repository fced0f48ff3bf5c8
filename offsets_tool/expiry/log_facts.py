"""Facts of one log partition that tell its cluster's releases and policy: record types, value versions, retention, newest time.

Keeps counts only, so that it stays small however many records pass. Observes events, or many at once.
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from offsets_tool.as_of.as_of import timestamp_of
from offsets_tool.events import Event
from offsets_tool.log_clock import LogClock
from offsets_tool.records.kinds import COMMITS
from offsets_tool.replay.rules import proves_new

_NONE: Final = -1
_LONG: Final = 1 << 64


class VersionRange(NamedTuple):
    """Where records of one type and version are: the first and the last of them, with their times in epoch milliseconds."""

    first_offset: int
    first_at: int | None
    last_offset: int
    last_at: int | None

    def joined(self, other: "VersionRange") -> "VersionRange":
        """Return the range that has both."""
        first = self if self.first_offset <= other.first_offset else other
        last = self if self.last_offset >= other.last_offset else other
        return VersionRange(first.first_offset, first.first_at, last.last_offset, last.last_at)


TypeVersion = tuple[int, int | None]
"""A record type and the version of a value; None for a tombstone or a value that does not decode."""


KEPT: Final = 20
"""How many records whose keys were not understood are named."""


@dataclass(slots=True)
class UnreadKeys:
    """Records whose key was not understood, so that nobody knows what they are about; what a group's records lack, its rows say."""

    reasons: Counter[str] = field(default_factory=Counter)
    """Why, counted."""
    texts: int = 0
    """How many of the keys are text, which no key of this topic is."""
    log_offsets: list[int] = field(default_factory=list)
    """The first of them, KEPT at most."""
    from_at: int | None = None
    to_at: int | None = None

    @property
    def records(self) -> int:
        """How many there are."""
        return self.reasons.total()

    def observe(self, event: Event, at: int | None) -> None:
        """Add the record of an event at a time in epoch milliseconds."""
        self.reasons[event.kept_raw or ""] += 1
        self.texts += _is_text(event.record.key)
        if len(self.log_offsets) < KEPT:
            self.log_offsets.append(event.record.log_offset)
        times = [each for each in (self.from_at, self.to_at, at) if each is not None]
        self.from_at, self.to_at = min(times, default=None), max(times, default=None)


def _is_text(key: bytes | None) -> bool:
    try:
        return bool(key) and (key or b"").decode().isprintable()
    except UnicodeDecodeError:
        return False


@dataclass(slots=True)
class LogFacts:
    """Facts of one log partition.

    `seen`: record types with the versions of their values that could be decoded, and where. `lasting`: number of
    commits by the time from commit to expiry, in Java's long arithmetic, which is how the broker added them. `clock` has observed
    the times of all records. `is_new`: whether a record proves the new coordinator, by whichever rules it was replayed.
    """

    seen: dict[TypeVersion, VersionRange] = field(default_factory=dict)
    lasting: Counter[int] = field(default_factory=Counter)
    clock: LogClock = field(default_factory=LogClock)
    is_new: bool = False
    proven_from: int = 0
    """Every record from this offset on is present."""
    _next_offset: int = 0
    unread: UnreadKeys = field(default_factory=UnreadKeys)

    def observe(self, event: Event) -> None:
        """Observe one event: its record type, its versions, its retention and its time."""
        at = timestamp_of(event)
        if at is not None and not event.is_absence:
            self.clock.observe(event.record.log_offset, at)
        self.observe_type(event)

    @property
    def newest(self) -> int | None:
        """Time of the newest record, epoch milliseconds; None without one."""
        return self.clock.newest

    def observe_type(self, event: Event) -> None:
        """Observe one event but for its time, which the clock has observed in its place; nothing of an absence."""
        if event.is_absence:
            return
        at = timestamp_of(event)
        if event.key is None and not event.record.is_control:
            self.unread.observe(event, at)
        if event.type_id is None or event.key is None:
            return
        self.is_new = self.is_new or proves_new(event)
        value, offset = event.value, event.record.log_offset
        self._observe_version(
            (event.type_id, value.version if value else None), VersionRange(offset, at, offset, at)
        )
        if event.type_id in COMMITS and value is not None and value.data.expire_timestamp != _NONE:
            self.lasting[_as_long(value.data.expire_timestamp - value.data.commit_timestamp)] += 1

    def observe_many(
        self,
        seen: Mapping[TypeVersion, VersionRange],
        lasting: Mapping[int, int],
        *,
        is_new: bool,
    ) -> None:
        """Observe many events at once but for their times, given the facts that the caller has counted of them."""
        for type_version, where in seen.items():
            self._observe_version(type_version, where)
        self.lasting.update(lasting)
        self.is_new = self.is_new or is_new

    def observe_offsets(self, first: int, last: int, behind_gap: int | None) -> None:
        """Observe the offsets of records, from `first` to `last`.

        `behind_gap` is the last of them that follows a missing record; None if none is missing.
        """
        if first != self._next_offset:
            self.proven_from = first
        if behind_gap is not None:
            self.proven_from = behind_gap
        self._next_offset = last + 1

    def observe_end(self, end: int) -> None:
        """Observe the end of the log: offsets below it without a record are missing records."""
        if end > self._next_offset:
            self.proven_from = self._next_offset = end

    def _observe_version(self, type_version: TypeVersion, where: VersionRange) -> None:
        known = self.seen.get(type_version)
        self.seen[type_version] = where if known is None else known.joined(where)

    def pack(self) -> Any:
        """Return the facts as JSON."""
        seen = sorted(([*each, *where] for each, where in self.seen.items()), key=repr)
        lasting = sorted(self.lasting.items())
        keys = self.unread
        unread = [keys.reasons, keys.texts, keys.log_offsets, keys.from_at, keys.to_at]
        return [seen, lasting, self.clock.pack(), self.is_new, self.proven_from, self._next_offset, unread]

    @classmethod
    def unpack(cls, packed: Any) -> "LogFacts":
        """Return the facts from which `pack` made this JSON."""
        seen, lasting, clock, is_new, proven_from, next_offset, *unread = packed
        known = {(type_id, version): VersionRange(*where) for type_id, version, *where in seen}
        # A checkpoint of an earlier release has none.
        reasons, *others = unread[0] if unread else [{}]
        keys = UnreadKeys(Counter(reasons), *others)
        facts = known, Counter(dict(lasting)), LogClock.unpack(clock), is_new, proven_from, next_offset
        return cls(*facts, keys)


def _as_long(number: int) -> int:
    return (number + _LONG // 2) % _LONG - _LONG // 2
