"""Finds the end offsets of data partitions in files of offsets, in data topics' directories, and in commits of all groups.

Files are read at once, directories only for partitions that are asked for.
"""

from collections.abc import Callable, Iterable, Sequence
from itertools import chain
from typing import TYPE_CHECKING

from offsets_tool.as_of.snapshot import Snapshot
from offsets_tool.errors import SourceError
from offsets_tool.evidence.sources import StoredEnds
from offsets_tool.lag.data_log import DataLog, data_logs
from offsets_tool.lag.end_files import read_ends
from offsets_tool.lag.samples import EndSample, Written
from offsets_tool.replay.changes import TopicPartition
from offsets_tool.time_texts import shown_time

if TYPE_CHECKING:
    from offsets_tool.lag.commits import LogCommits

_Samples = dict[TopicPartition, list[EndSample]]


def _put(samples: _Samples, found: Iterable[EndSample]) -> None:
    for sample in found:
        samples.setdefault(TopicPartition(sample.topic, sample.partition), []).append(sample)


class EndSources:
    """Everything that tells where data partitions end: files of offsets, directories of data topics, and commits."""

    def __init__(
        self,
        paths: Sequence[str] = (),
        *,
        files: Sequence[str] = (),
        log_starts: Sequence[str] = (),
        stored: StoredEnds | None = None,
        files_at: int | None = None,
        is_last_stable: bool = False,
        note: Callable[[str], None] = lambda _: None,
    ) -> None:
        """Read the end offsets in `files`, and where logs start in `log_starts`; find data topics' directories below `paths`.

        `stored` are samples of a lake, beside which no directories are looked for. `files_at` is when files were made that do not
        say it, in epoch milliseconds; by default when they were written. `is_last_stable` takes ends as consumers with
        isolation.level=read_committed see them. `note` is called with a sentence for whatever is odd.
        """
        self.is_last_stable = is_last_stable
        self._note = note
        self._of_files: _Samples = {}
        self._of_lake: _Samples = {}
        given = [*((path, False) for path in files), *((path, True) for path in log_starts)]
        read = (read_ends(path, files_at, log_starts=is_start) for path, is_start in given)
        _put(self._of_files, chain.from_iterable(read))
        self._stored, self._asked = stored, set[str]()
        self._logs = data_logs(paths if stored is None else ())
        self._samples: _Samples = {}
        self.at = 0
        """The moment in epoch milliseconds; after `find`."""
        self.commit_times: dict[tuple[int | None, int], int] = {}
        """When committed offsets were committed, by log partition and log offset; set with `find`."""
        self.commits: LogCommits | None = None
        """What commits say of ends, all of them or those that are live; None: nothing."""

    @property
    def has_any(self) -> bool:
        """Whether the end of any partition is known from a file or a data directory, and not from commits alone."""
        is_stored = self._stored is not None and self._stored.has_ends
        return bool(self._of_files or self._logs or is_stored)

    def known(self, partitions: Iterable[TopicPartition]) -> set[TopicPartition]:
        """Return the partitions whose end is known from a file or a data directory, and not from commits alone."""
        asked = set(partitions)
        self._take_stored(asked)
        return {each for each in asked if self._sampled(each) or each in self._logs}

    def _sampled(self, partition: TopicPartition) -> list[EndSample]:
        return [*self._of_lake.get(partition, ()), *self._of_files.get(partition, ())]

    def _take_stored(self, partitions: Iterable[TopicPartition]) -> None:
        """Read the samples of a lake for the topics of these partitions, unless they are read."""
        new = {partition.topic for partition in partitions} - self._asked
        if self._stored is not None and new:
            _put(self._of_lake, self._stored.ends(new))
            self._asked |= new

    def find(self, snapshot: Snapshot, partitions: Iterable[TopicPartition]) -> None:
        """Read the ends of these partitions from their logs, and set `at`: the time of the moment, else the newest of all."""
        partitions = list(partitions)
        self._take_stored(partitions)
        newest = snapshot.newest_timestamp or 0
        asked = snapshot.as_of.time
        reaches = asked is not None and any(p.cut.end is not None for p in snapshot)
        until = asked if asked is not None and reaches else newest
        found = {
            partition: self._logged(partition, until) for partition in partitions if partition in self._logs
        }
        self.at = newest if asked is None else asked
        if snapshot.as_of.is_end:
            sampled = [s.at for partition in partitions for s in self._sampled(partition)]
            self.at = max([newest, *sampled, *(s.at for samples in found.values() for s in samples)])
            if self.at > newest and sampled:
                self._note(
                    f"lag is of {shown_time(self.at)}, the newest end offset: offsets committed up to "
                    f"{shown_time(newest)}, the newest record, are taken to stand then"
                )
        self._samples = found

    def _logged(self, partition: TopicPartition, until: int) -> list[EndSample]:
        return [sample for log in list(self._logs[partition]) for sample in self._read(partition, log, until)]

    def _read(self, partition: TopicPartition, log: DataLog, until: int) -> list[EndSample]:
        try:
            samples = log.samples(until)
            self._note_watermark(log)
        except SourceError as error:
            self._leave_out(partition, log, error)
            return []
        return samples

    def _leave_out(self, partition: TopicPartition, log: DataLog, error: SourceError) -> None:
        self._note(f"{error}: nothing more of {partition.topic}-{partition.partition} is taken from there")
        self._logs[partition].remove(log)

    def samples(self, partition: TopicPartition) -> list[EndSample]:
        """Return the samples of a partition's end from files and directories; call `find` first."""
        return [*self._sampled(partition), *self._samples.get(partition, ())]

    def written(self, partition: TopicPartition, offset: int) -> Written | None:
        """Return when the record at an offset was written, from the longest log of its partition; None if no log says it."""
        log = max(self._logs.get(partition, ()), key=lambda log: log.end_offset, default=None)
        if log is None:
            return None
        try:
            return log.written(offset)
        except SourceError as error:
            self._leave_out(partition, log, error)
            return None

    def _note_watermark(self, log: DataLog) -> None:
        watermark = log.high_watermark
        if watermark is not None and watermark < log.end_offset:
            self._note(
                f"{log.directory.path}: the high watermark was checkpointed at {watermark}, the log ends at {log.end_offset}: "
                "consumers may not have been able to read all of it"
            )
