"""When a log ends, by the times of its records: the time of the last one in the log that the records around it do not contradict.

A record's time is what a broker's or a client's clock said. One clock that stood in another year may not decide for all groups what
"now" is: the largest time is not the newest. Knows nothing of what records hold. Times are epoch milliseconds, below 0 none.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

SKEW_MS: Final = 3_600_000
"""How far the clocks of brokers that lead one after the other may be apart without contradicting each other."""
LONGEST_PAUSE_MS: Final = 15 * 366 * 86_400_000
"""No log is silent for longer: records have had times since Kafka 0.10, of 2016."""
FIRST_KAFKA_MS: Final = 1_293_840_000_000
"""2011-01-01, the year of Kafka's first release: no record of a log with later times is older."""


class OddTime(NamedTuple):
    """A record whose time does not count, because the records around it contradict it."""

    log_offset: int
    timestamp: int


@dataclass(slots=True)
class LogClock:
    """The time at which a log ends. Records are observed in the order of the log; its size does not grow with them."""

    newest: int | None = None
    """The time of the last record that others do not contradict; None without one."""
    began: int | None = None
    """The time of the first such record."""
    _times: int = 0
    """How many times agree on it: 1, or 2 for all that are more."""
    _run: OddTime | None = None
    """The first record since time leapt ahead last, which may turn out to be of a wrong clock."""
    _before: int | None = None
    """The time before that leap."""
    _doubted: OddTime | None = None
    """The record before, if it is older than those before it, and nothing agrees with it yet."""
    _odd: list[OddTime] = field(default_factory=list)
    """The first record that was left out, and one more if there is one."""

    @property
    def odd(self) -> Sequence[OddTime]:
        """The first record whose time does not count, and one more if there are more."""
        return self._odd if self._doubted is None else [*self._odd, self._doubted][:2]

    def observe(self, log_offset: int, timestamp: int) -> None:
        """Observe the next record of the log."""
        newest = self.newest
        if newest is not None and -SKEW_MS <= timestamp - newest <= SKEW_MS and timestamp >= 0:
            self._go_on(timestamp, has_others=timestamp != newest)
        elif timestamp >= 0:
            self._weigh(log_offset, timestamp)

    def dated(self, log_offset: int, timestamp: int) -> int:
        """Observe the next record of the log, and return its time; if that does not count, the time of those before it."""
        self.observe(log_offset, timestamp)
        return timestamp if self.newest is None else self.newest

    def observe_calm(self, first: int, last: int, *, has_others: bool) -> bool:
        """Observe records that follow one of time `first`, observed just now, up to one of time `last`, each near the one before.

        `has_others` unless all have one time. Return False if they have to be observed one at a time.
        """
        if self.newest != first or self._doubted is not None:
            return False
        self._go_on(last, has_others=has_others)
        return True

    def is_absurd(self, timestamp: int) -> bool:
        """Return whether a time is so far from those of the log that it can only be of a wrong clock."""
        newest = self.newest
        if newest is None or newest < FIRST_KAFKA_MS:
            return False
        return timestamp < FIRST_KAFKA_MS or timestamp - newest > LONGEST_PAUSE_MS

    def has_left_out(self, timestamp: int) -> bool:
        """Return whether a time of the log is that of a record that does not count, as far as these are known."""
        return self.is_absurd(timestamp) or any(record.timestamp == timestamp for record in self.odd)

    def _go_on(self, timestamp: int, *, has_others: bool) -> None:
        self.newest = timestamp
        if has_others:
            self._times = 2
        if self._doubted is not None:
            self._leave_out(self._doubted)
            self._doubted = None

    def _weigh(self, log_offset: int, timestamp: int) -> None:
        """Observe a record whose time is not near that of the one before."""
        record, newest = OddTime(log_offset, timestamp), self.newest
        if newest is None:
            self._begin(record, times=1)
        elif self.is_absurd(timestamp):
            self._leave_out(record)
        elif timestamp > newest:
            self._go_on(newest, has_others=True)
            self._begin(record, times=2, before=newest)
        elif self._times < 2 or (self._before is not None and timestamp >= self._before - SKEW_MS):
            # One against one: the later in the log counts. Or a leap ahead that what came before and after it contradicts.
            self._turn_back(record, times=1 if self._before is None else 2)
        else:
            self._doubt(record)

    def _doubt(self, record: OddTime) -> None:
        """Observe a record that is older than those before it: two of them in a row show that the clock was set back."""
        known = self._doubted
        if known is None:
            self._doubted = record
        elif record.timestamp >= known.timestamp - SKEW_MS and record.timestamp != known.timestamp:
            self._turn_back(record, times=2)

    def _turn_back(self, record: OddTime, times: int) -> None:
        assert self._run is not None
        self._leave_out(self._run)
        if self.began == self._run.timestamp:
            self.began = None
        self._begin(record, times)

    def _begin(self, record: OddTime, times: int, before: int | None = None) -> None:
        self.newest, self._run, self._before, self._doubted = record.timestamp, record, before, None
        self._times = times
        if self.began is None or self.is_absurd(self.began):
            self.began = record.timestamp

    def _leave_out(self, record: OddTime) -> None:
        if len(self._odd) < 2:
            self._odd.append(record)

    def pack(self) -> Any:
        """Return the clock as JSON."""
        return [self.newest, self._times, self._run, self._before, self._doubted, self._odd, self.began]

    @classmethod
    def unpack(cls, packed: Any) -> "LogClock":
        """Return the clock of which `pack` made this JSON; a number is the newest time, as earlier releases saved it."""
        clock = cls()
        if packed is None or isinstance(packed, int):
            clock.newest, clock._times = packed, 2
            clock._run = None if packed is None else OddTime(0, packed)
            return clock
        clock.newest, clock._times, run, clock._before, doubted, odd, *began = packed
        # Earlier releases did not save when the log began.
        clock.began = began[0] if began else None
        clock._run, clock._doubted = (None if each is None else OddTime(*each) for each in (run, doubted))
        clock._odd = [OddTime(*each) for each in odd]
        return clock


def latest_of(ends: Iterable[int | None]) -> int | None:
    """Return the time at which several logs of one cluster end, given that of each; None if none has one.

    Times that lie further apart than any pause contradict each other: those count that most logs agree on.
    """
    times = sorted(at for at in ends if at is not None)
    times = [at for at in times if at >= FIRST_KAFKA_MS] or times
    if not times:
        return None
    group, last, counts, newest = 0, times[0], Counter[int](), dict[int, int]()
    for at in times:
        group += at - last > LONGEST_PAUSE_MS
        counts[group], newest[group], last = counts[group] + 1, at, at
    return newest[min(counts, key=lambda each: (-counts[each], each))]


def age_at(now: int | None, since: int) -> int | None:
    """Return how long ago a time was, milliseconds; None where the two contradict each other, so that one is of a wrong clock."""
    if now is None or since < 0 or since - now > SKEW_MS or abs(now - since) > LONGEST_PAUSE_MS:
        return None
    return max(0, now - since)
