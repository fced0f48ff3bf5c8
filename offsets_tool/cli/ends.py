"""Where a command takes end offsets from: files that are named, data topics' directories in the evidence, commits of all groups.

Files are read at once, directories only for partitions that are asked for.
"""

from collections.abc import Callable, Iterable
from typing import Any, TypeVar

import click

from offsets_tool.as_of.snapshot import Moment
from offsets_tool.cli.render import note
from offsets_tool.errors import SourceError
from offsets_tool.evidence.moment_texts import Clock, parse_optional_time
from offsets_tool.evidence.times import shown_time
from offsets_tool.lag.bounds import Bounds
from offsets_tool.lag.data_log import DataLog, data_logs
from offsets_tool.lag.end_files import read_ends
from offsets_tool.lag.ends import Ends
from offsets_tool.lag.samples import EndSample
from offsets_tool.lag.time_lag import Written
from offsets_tool.replay.changes import TopicPartition

F = TypeVar("F", bound=Callable[..., Any])


def ends_options(command: F) -> F:
    """--ends --log-starts --ends-at --read-committed"""
    file = click.Path(exists=True, dir_okay=False)
    for option in reversed(
        (
            click.option(
                "--ends",
                multiple=True,
                metavar="FILE",
                type=file,
                help="End offsets: kafka-get-offsets, CSV, JSON or Prometheus (repeatable).",
            ),
            click.option(
                "--log-starts",
                multiple=True,
                metavar="FILE",
                type=file,
                help="Likewise, of kafka-get-offsets --time earliest.",
            ),
            click.option(
                "--ends-at",
                metavar="TIME",
                help="When those files were made that do not say it (a time, as for --as-of). Default: when they were written.",
            ),
            click.option(
                "--read-committed",
                is_flag=True,
                help="Count to the last stable offset, as consumers with isolation.level=read_committed.",
            ),
        )
    ):
        command = option(command)
    return command


class KnownEnds:
    """Everything that says where partitions end."""

    def __init__(self, options: dict[str, Any]) -> None:
        """From the options that `source_options` and `ends_options` declare."""
        self._last_stable: bool = options["read_committed"]
        at = parse_optional_time(options["ends_at"], "--ends-at", Clock.of(options))
        self._sampled: dict[TopicPartition, list[EndSample]] = {}
        for name in ("ends", "log_starts"):
            for path in options[name]:
                for sample in read_ends(path, at, log_starts=name == "log_starts"):
                    self._sampled.setdefault(TopicPartition(sample.topic, sample.partition), []).append(
                        sample
                    )
        self._logs = data_logs(options["logs"])
        self._samples: dict[TopicPartition, list[EndSample]] = {}
        self._ends: dict[TopicPartition, Ends] = {}
        self.at = 0
        """The moment in epoch milliseconds; after `settle`."""
        self.bounds = Bounds()

    @property
    def any(self) -> bool:
        """Whether anything but commits tells of ends."""
        return bool(self._sampled or self._logs)

    def knows(self, place: TopicPartition) -> bool:
        """Whether anything but commits tells of this partition's end."""
        return place in self._sampled or place in self._logs

    def settle(self, moment: Moment, places: Iterable[TopicPartition]) -> None:
        """Reads what there is of the places, and finds `at`, the moment in time: that of --as-of, else the newest of all."""
        newest = moment.newest_timestamp or 0
        asked = moment.as_of.time
        reaches = asked is not None and any(p.cut.end is not None for p in moment)
        until = asked if asked is not None and reaches else newest
        found = {place: self._logged(place, until) for place in places if place in self._logs}
        self.at = newest if asked is None else asked
        if moment.as_of.is_end:
            sampled = [s.at for place in places for s in self._sampled.get(place, ())]
            self.at = max([newest, *sampled, *(s.at for samples in found.values() for s in samples)])
            if self.at > newest and sampled:
                note(
                    f"lag is of {shown_time(self.at)}, the newest end offset: offsets committed up to "
                    f"{shown_time(newest)}, the newest record, are taken to stand then"
                )
        self._samples = found

    def _logged(self, place: TopicPartition, until: int) -> list[EndSample]:
        return [sample for log in list(self._logs[place]) for sample in self._read(place, log, until)]

    def _read(self, place: TopicPartition, log: DataLog, until: int) -> list[EndSample]:
        try:
            samples = log.samples(until)
            _say_watermark(log)
        except SourceError as error:
            self._leave_out(place, log, error)
            return []
        return samples

    def _leave_out(self, place: TopicPartition, log: DataLog, error: SourceError) -> None:
        note(f"{error}: nothing more of {place.topic}-{place.partition} is taken from there")
        self._logs[place].remove(log)

    def of(self, place: TopicPartition) -> Ends:
        """The ends of a partition; after `settle`."""
        if place not in self._ends:
            self._ends[place] = self._put_together(place)
        return self._ends[place]

    def _put_together(self, place: TopicPartition) -> Ends:
        seen = [*self._sampled.get(place, ()), *self._samples.get(place, ()), *self.bounds.samples(place)]
        return Ends.of(seen, last_stable=self._last_stable)

    def written(self, place: TopicPartition, offset: int) -> Written | None:
        """When a record was written, by the log of its partition that reaches farthest."""
        log = max(self._logs.get(place, ()), key=lambda log: log.end, default=None)
        if log is None:
            return None
        try:
            return log.written(offset)
        except SourceError as error:
            self._leave_out(place, log, error)
            return None


def _say_watermark(log: DataLog) -> None:
    watermark = log.high_watermark
    if watermark is not None and watermark < log.end:
        note(
            f"{log.directory.path}: the high watermark was checkpointed at {watermark}, the log ends at {log.end}: "
            "consumers may not have been able to read all of it"
        )
