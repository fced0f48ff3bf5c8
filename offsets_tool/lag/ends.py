"""The ends of one partition over time, put together from samples: what the end was at a moment, at least and at most.

Between two samples the end is between theirs; after the last one it is at least that. A topic that was deleted and created again
begins a new lifetime: its id differs, or the end of one source goes back. Where clocks disagree, who asked the broker is believed.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable
from typing import Final, NamedTuple

from offsets_tool.lag.samples import EndMethod, EndSample

_WEIGHT: Final = {EndMethod.INDEX: 1, EndMethod.SAMPLED: 2}
_AT_SAMPLE: Final = -1
"""In place of a number of bounds: what a sample says of its own moment stands."""


class EndAt(NamedTuple):
    """The end at a moment: not below `low` (None: nothing is known), not above `high` (None: open).

    `methods` are those of the samples around the moment, and of the commit that implies `low`.
    """

    low: int | None
    high: int | None
    estimate: int | None
    methods: tuple[EndMethod, ...] = ()


class TopicLifetime:
    """One partition between the creation of its topic and its deletion. Sequences are in the order of time, offsets never fall.

    Nothing is added once it was asked for an end.
    """

    def __init__(self, topic_id: str | None = None) -> None:
        self.topic_id = topic_id
        self.begins: int | None = None
        """Time of the first sample."""
        self.times: list[int] = []
        self.ends: list[int] = []
        self.methods: list[EndMethod] = []
        self.start_times: list[int] = []
        self.starts: list[int] = []
        self.bound_times: list[int] = []
        self.bounds: list[int] = []
        """Ends that commits imply, each above all before it."""
        self._around: dict[tuple[int, int], EndAt] = {}
        """Between two of all these the same is known, but for the estimate."""

    def add(self, sample: EndSample, end: int) -> None:
        """Add a sample of the end; samples come in the order of time."""
        while self.ends and self.ends[-1] > end:
            if _WEIGHT[self.methods[-1]] >= _WEIGHT[sample.method]:
                return
            self._drop_last()
        if self.ends[-2:] == [end, end] and set(self.methods[-2:]) == {sample.method}:
            # Of a run of equal ends its begin and its end tell all.
            self._drop_last()
        self.times.append(sample.at)
        self.ends.append(end)
        self.methods.append(sample.method)

    def _drop_last(self) -> None:
        for column in (self.times, self.ends, self.methods):
            column.pop()

    def add_start(self, at: int, log_start_offset: int) -> None:
        """Add a log start, seen at a time in epoch milliseconds; ignore one that is below an earlier one."""
        if not self.starts or log_start_offset >= self.starts[-1]:
            self.start_times.append(at)
            self.starts.append(log_start_offset)

    def add_bound(self, at: int, end: int) -> None:
        """Add a lower bound of the end from a commit, which a later sample of a lower end refutes."""
        later = bisect_left(self.times, at)
        if later < len(self.ends) and self.ends[later] < end:
            return
        if not self.bounds or end > self.bounds[-1]:
            self.bound_times.append(at)
            self.bounds.append(end)

    def log_start_at(self, at: int) -> int | None:
        """Return the latest log start seen up to a moment (epoch milliseconds); the true one is not lower. None if none was."""
        i = bisect_right(self.start_times, at)
        return self.starts[i - 1] if i else None

    def first_log_start(self) -> int | None:
        """Return the earliest log start that was seen; before it, the true one was not higher. None if none was."""
        return self.starts[0] if self.starts else None

    def end_at(self, at: int) -> EndAt:
        """Return the end at a moment, in epoch milliseconds."""
        i = bisect_right(self.times, at)
        b = bisect_right(self.bound_times, at)
        if i and self.times[i - 1] == at:
            b = _AT_SAMPLE
        known = self._around.get((i, b))
        if known is None:
            known = self._around[i, b] = self._at_sample(i) if b == _AT_SAMPLE else self._behind(i, b)
        low, high = known.low, known.high
        if low is None or high is None or low == high:
            return known
        return EndAt(low, high, max(low, self._between(at, i)), known.methods)

    def _at_sample(self, i: int) -> EndAt:
        end = self.ends[i - 1]
        return EndAt(end, end, end, (self.methods[i - 1],))

    def _behind(self, i: int, b: int) -> EndAt:
        """Return the end after the first `i` samples and the first `b` bounds; the estimate is the least that it can be."""
        low = left = self.ends[i - 1] if i else None
        methods = tuple(self.methods[max(0, i - 1) : i + 1])
        bound = self.bounds[b - 1] if b else None
        if bound is not None and (left is None or bound > left):
            low, methods = bound, (*methods, EndMethod.COMMITTED)
        return EndAt(low, self.ends[i] if i < len(self.ends) else None, low, methods)

    def _between(self, at: int, i: int) -> int:
        """Return the end on a straight line between sample i and the one before it; before the first sample, from the first commit
        on.
        """
        since, low = (self.times[i - 1], self.ends[i - 1]) if i else (self.bound_times[0], self.bounds[0])
        return low + (self.ends[i] - low) * (at - since) // (self.times[i] - since)


class Ends:
    """The ends of one partition over time: those of the topic, and of each earlier topic of the same name."""

    def __init__(self, lifetimes: tuple[TopicLifetime, ...], *, is_last_stable: bool = False) -> None:
        self.lifetimes = lifetimes
        self.is_last_stable = is_last_stable
        """Whether they are last stable offsets."""

    @classmethod
    def of(cls, samples: Iterable[EndSample], *, is_last_stable: bool = False) -> "Ends":
        """Return the ends of one partition from its samples, which may come in any order.

        With `is_last_stable` the last stable offset takes the place of the end, and commits are left out: a group may commit
        offsets that are not yet committed data.
        """
        if is_last_stable:
            samples = (
                s._replace(end_offset=s.last_stable_offset)
                for s in samples
                if s.method is not EndMethod.COMMITTED
            )
        builder = _TopicLifetimes()
        ordered = sorted(samples, key=_order)
        builder.learn_finals(ordered)
        for sample in ordered:
            builder.add(sample)
        return cls(builder.finished(), is_last_stable=is_last_stable)

    def number_at(self, at: int) -> int:
        """Return the number of the topic (counted from 0, in time) that had the partition's name at a moment; 0 if nothing is
        known of it.
        """
        if len(self.lifetimes) < 2:
            return 0
        return max(
            sum(lifetime.begins is not None and lifetime.begins <= at for lifetime in self.lifetimes) - 1, 0
        )

    def lifetime_at(self, at: int) -> TopicLifetime:
        """Return the lifetime at a time; an empty one where nothing is known."""
        if len(self.lifetimes) == 1:
            return self.lifetimes[0]
        return self.lifetimes[self.number_at(at)] if self.lifetimes else TopicLifetime()


def _order(sample: EndSample) -> tuple[object, ...]:
    """Return the key that sorts samples: by time, and at one time the highest end last, a broker's after all others."""
    key = sample.at, _or_none(sample.end_offset)
    if sample.method is EndMethod.COMMITTED:
        return key
    rest = (
        _or_none(sample.log_start_offset),
        _or_none(sample.last_stable_offset),
        sample.source,
        sample.topic_id or "",
    )
    return *key, _WEIGHT[sample.method], *rest


def _or_none(offset: int | None) -> int:
    """Return an offset, or None for a number below all offsets."""
    return -1 if offset is None else offset


class _TopicLifetimes:
    """The samples of one partition, added in the order of time, and divided where the topic was created anew."""

    def __init__(self) -> None:
        self._lifetimes: list[TopicLifetime] = []
        self._highest: dict[str, int] = {}
        """The last sample of each source, in the present lifetime."""
        self._final: dict[str, int] = {}
        self._bounds: list[tuple[TopicLifetime, int, int]] = []

    def learn_finals(self, samples: Iterable[EndSample]) -> None:
        """Note the last sample of each source."""
        self._final = {s.source: s.end_offset for s in samples if s.end_offset is not None}

    def add(self, sample: EndSample) -> None:
        """Add a sample to the present topic of this name, or begin a new one where the sample can only be of a new one."""
        lifetime = self._lifetime_of(sample)
        if sample.method is EndMethod.COMMITTED:
            if sample.end_offset is not None:
                self._bounds.append((lifetime, sample.at, sample.end_offset))
            return
        if sample.log_start_offset is not None:
            lifetime.add_start(sample.at, sample.log_start_offset)
        if sample.end_offset is not None:
            self._highest[sample.source] = sample.end_offset
            lifetime.add(sample, sample.end_offset)

    def finished(self) -> tuple[TopicLifetime, ...]:
        """Return the lifetimes; bounds are added to them now, after every sample of the same lifetime."""
        for lifetime, at, end in self._bounds:
            lifetime.add_bound(at, end)
        return tuple(self._lifetimes)

    def _lifetime_of(self, sample: EndSample) -> TopicLifetime:
        known = next(
            (
                lifetime
                for lifetime in self._lifetimes
                if sample.topic_id and lifetime.topic_id == sample.topic_id
            ),
            None,
        )
        if known is not None and known is not self._lifetimes[-1]:
            return known
        if not self._lifetimes or self._is_another(sample):
            self._lifetimes.append(TopicLifetime(sample.topic_id))
            self._highest = {}
        lifetime = self._lifetimes[-1]
        lifetime.topic_id = lifetime.topic_id or sample.topic_id
        lifetime.begins = sample.at if lifetime.begins is None else lifetime.begins
        return lifetime

    def _is_another(self, sample: EndSample) -> bool:
        """Return whether a sample can only be of a topic that was created anew."""
        lifetime = self._lifetimes[-1]
        if sample.topic_id and lifetime.topic_id:
            return sample.topic_id != lifetime.topic_id
        if sample.end_offset is None or sample.method is EndMethod.COMMITTED:
            return False
        if sample.end_offset < self._highest.get(sample.source, 0):
            return True
        if sample.method is EndMethod.INDEX:
            # A log that never got to where others saw the end is not that log; one that did has another clock.
            return bool(lifetime.ends) and self._final[sample.source] < lifetime.ends[-1]
        return lifetime.methods[:1] == [EndMethod.INDEX] and sample.end_offset < lifetime.ends[0]
