"""The ends of one partition over time, put together from samples: which topics had its name, and how the end of each grew.

A topic that was deleted and created again begins a new lifetime: its id differs, or the end of one source goes back. Where clocks
disagree, who asked the broker is believed.
"""

from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

from offsets_tool.lag.samples import EndMethod, EndSample

_WEIGHT: Final = {EndMethod.INDEX: 1, EndMethod.SAMPLED: 2}


class TopicLifetime:
    """One partition between the creation of its topic and its deletion. Sequences are in the order of time, offsets never fall."""

    def __init__(self, topic_id: str | None = None, begins: int = 0) -> None:
        """Start without samples; `begins` is the time of the first."""
        self.topic_id = topic_id
        self.begins = begins
        self.times: list[int] = []
        self.ends: list[int] = []
        self.methods: list[EndMethod] = []
        self.start_times: list[int] = []
        self.starts: list[int] = []

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


class Ends(NamedTuple):
    """The topics that had the name of one partition, in the order of time; and for each commit among the samples, in the order of
    time and end, the number of its topic.
    """

    lifetimes: Sequence[TopicLifetime]
    of_commits: Sequence[int]

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
        return cls(builder.lifetimes, builder.of_commits)


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
        self.lifetimes: list[TopicLifetime] = []
        self.of_commits: list[int] = []
        self._highest: dict[str, int] = {}
        """The last sample of each source, in the present lifetime."""
        self._final: dict[str, int] = {}

    def learn_finals(self, samples: Iterable[EndSample]) -> None:
        """Note the last sample of each source."""
        self._final = {s.source: s.end_offset for s in samples if s.end_offset is not None}

    def add(self, sample: EndSample) -> None:
        """Add a sample to the present topic of this name, or begin a new one where the sample can only be of a new one."""
        lifetime = self._lifetime_of(sample)
        if sample.method is EndMethod.COMMITTED:
            self.of_commits.append(self.lifetimes.index(lifetime))
            return
        if sample.log_start_offset is not None:
            lifetime.add_start(sample.at, sample.log_start_offset)
        if sample.end_offset is not None:
            self._highest[sample.source] = sample.end_offset
            lifetime.add(sample, sample.end_offset)

    def _lifetime_of(self, sample: EndSample) -> TopicLifetime:
        known = next((each for each in self.lifetimes[:-1] if each.topic_id == sample.topic_id), None)
        if known is not None and sample.topic_id:
            return known
        if not self.lifetimes or self._is_another(sample):
            self.lifetimes.append(TopicLifetime(sample.topic_id, sample.at))
            self._highest = {}
        lifetime = self.lifetimes[-1]
        lifetime.topic_id = lifetime.topic_id or sample.topic_id
        return lifetime

    def _is_another(self, sample: EndSample) -> bool:
        """Return whether a sample can only be of a topic that was created anew."""
        lifetime = self.lifetimes[-1]
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
