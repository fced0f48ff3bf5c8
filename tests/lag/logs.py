"""A partition whose truth is known, and what can be seen of it: samples of its end at some times, commits at some others."""

from bisect import bisect_right
from typing import NamedTuple

from hypothesis import strategies as st

from offsets_tool.lag.samples import EndMethod, EndSample
from tests.lag.one_by_one import CommitAt, Ends

LATEST = 1_000


class Log(NamedTuple):
    """A data partition: the record at offset i was written at the time `written[i]`."""

    written: tuple[int, ...]

    def end(self, at: int) -> int:
        """Return the end offset after all records that were written up to a time."""
        return bisect_right(self.written, at)

    def time_lag(self, offset: int, at: int) -> int:
        """Return for how long the record at an offset has been there at a time; 0 where it is not there yet."""
        return at - self.written[offset] if offset < self.end(at) else 0


@st.composite
def logs(draw: st.DrawFn) -> Log:
    """Draw a Log of up to thirty records."""
    return Log(tuple(sorted(draw(st.lists(st.integers(1, LATEST), max_size=30)))))


def some(log: Log, data: st.DataObject) -> list[EndSample]:
    """Draw samples of a log's end: by a broker, and by commits, which are never beyond the end."""
    found = [
        EndSample("t", 0, at, end_offset=log.end(at), source="broker")
        for at in data.draw(st.lists(st.integers(0, LATEST), max_size=6, unique=True))
    ]
    for at in data.draw(st.lists(st.integers(0, LATEST), max_size=4)):
        end = data.draw(st.integers(0, log.end(at)))
        found.append(EndSample("t", 0, at, end_offset=end, method=EndMethod.COMMITTED, source="commits"))
    return found


def commits(log: Log, data: st.DataObject) -> tuple[CommitAt, int]:
    """Draw a commit, and a moment that is not before it."""
    at = data.draw(st.integers(0, LATEST))
    moment = data.draw(st.integers(at, LATEST))
    return CommitAt(at, data.draw(st.integers(0, log.end(at)))), moment


def ends_of(*points: tuple[int, int], source: str = "broker") -> Ends:
    """Return the Ends of samples (time, end) that a broker gave."""
    return Ends(EndSample("t", 0, at, end_offset=end, source=source) for at, end in points)
