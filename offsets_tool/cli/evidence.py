"""What LOG... and --bootstrap-server name: an ordered list of parts, each read with the same verb whatever it is.

A part is a segment, an archive's file or a live partition. Knows nothing about decoding. pyarrow and kafka-python are imported only
when an archive or a live topic is read.
"""

from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from offsets_tool.cli.sizes import max_batch_bytes_option, parse_limits
from offsets_tool.errors import SourceError, UsageError
from offsets_tool.log.archive.files import ArchiveFile, archive_files
from offsets_tool.log.batches.limits import LIMITS, Limits
from offsets_tool.log.discover import find_segments
from offsets_tool.log.files.folders import Kind, look_at, size_of
from offsets_tool.log.files.mapping import sha256
from offsets_tool.log.ledger import Ledger
from offsets_tool.log.names import OFFSETS_TOPIC, Segment, SegmentKind
from offsets_tool.log.segment import or_lost, read_segment
from offsets_tool.rows import BatchRead, LogRecord, Unreadable

if TYPE_CHECKING:
    from offsets_tool.log.live import LiveTopic

F = TypeVar("F", bound=Callable[..., Any])
T = TypeVar("T")
Item = BatchRead | LogRecord | Unreadable
"""What reading gives: batches from logs, single records from archives (they keep no batches), and the bytes in between."""


@dataclass(frozen=True, slots=True)
class Part:
    """One file, archive or live partition. `size` in bytes, 0 where it is not known before reading."""

    source: str
    log_partition: int | None
    size: int
    read: Callable[[Ledger, bool], Iterator[Item]] = field(repr=False)
    """Reads it all into the ledger; the flag False also reads batches whose CRC is wrong."""
    segment: Segment | None = None
    archive: bool = False
    close: Callable[[], None] = field(default=lambda: None, repr=False)
    set_aside: bool = False
    """A file that Kafka no longer reads as the log (.deleted, .cleaned, .swap, -delete ...), found in a folder."""
    limits: Limits = LIMITS
    """What one of its batches may hold."""
    must_open: bool = True
    """Whether the evidence is this file itself: then it is an error that it cannot be opened."""

    @property
    def path(self) -> str | None:
        """Where it lies on disk; None for a live partition."""
        return self.segment.path if self.segment else self.source if self.archive else None

    def or_lost(self, items: Iterator[T], ledger: Ledger) -> Iterator[T | Unreadable]:
        """What is read of the segment, or all of it as unreadable where it was found beside others and cannot be opened."""
        return items if self.must_open or self.segment is None else or_lost(items, self.segment, ledger)

    def ledger(self) -> Ledger:
        """An empty ledger for this part."""
        return Ledger(self.source, self.log_partition, archive=self.archive)


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """The evidence options as given."""

    paths: tuple[str, ...]
    log_partition: int | None = None
    columns: dict[str, str] = field(default_factory=dict)
    bootstrap_server: str | None = None
    command_config: str | None = None
    limits: Limits = LIMITS

    @classmethod
    def of(cls, options: dict[str, Any]) -> "Evidence":
        """From the options that `evidence_options` declares."""
        return cls(
            paths=options["logs"],
            log_partition=options["log_partition"],
            columns=parse_columns(options["columns"]),
            bootstrap_server=options["bootstrap_server"],
            command_config=options["command_config"],
            limits=parse_limits(options["max_batch_bytes"]),
        )

    def parts(self, only: frozenset[int] = frozenset()) -> list[Part]:
        """The parts in reading order; `only` keeps these log partitions (and parts that learn theirs by reading)."""
        if not all(self.paths):
            raise UsageError(
                "LOG is an empty text; name a file or folder (a variable of the shell may be unset)"
            )
        if bool(self.paths) == bool(self.bootstrap_server):
            raise UsageError(
                "give evidence to read: a .log file, a __consumer_offsets-N directory, a broker's data directory, "
                "an archive, or --bootstrap-server HOST:PORT (one or the other)"
            )
        if self.bootstrap_server:
            return self._live(only)
        return [p for p in self._files() if not only or p.log_partition is None or p.log_partition in only]

    def _files(self) -> list[Part]:
        archives = {path: files for path in self.paths if (files := self._archives(path))}
        named = {Path(path).as_posix() for path in self.paths}
        segments: list[Segment] = []
        for path in self.paths:
            if any(file.named for file in archives.get(path, ())):
                continue
            try:
                segments += find_segments([path], self.log_partition)
            except SourceError:
                if path not in archives:
                    raise
        if self.columns and not archives:
            raise UsageError("--columns: no archive with such columns is here; correct the names, or drop it")
        parts = [
            _segment_part(segment, self.limits, named=segment.path in named)
            for segment in dict.fromkeys(segments)
        ]
        # A file that was given itself and its folder too is one part, and named.
        found = sorted(chain(*archives.values()), key=lambda file: file.named)
        return parts + [self._archive_part(file) for file in {file.path: file for file in found}.values()]

    def _archives(self, path: str) -> list[ArchiveFile]:
        return archive_files(path, self.columns) if look_at(path).kind in (Kind.FILE, Kind.FOLDER) else []

    def _archive_part(self, file: ArchiveFile) -> Part:
        def read(ledger: Ledger, verify: bool) -> Iterator[Item]:
            from offsets_tool.log.archive.read import read_archive  # noqa: PLC0415 - pyarrow, only when it is needed

            yield from read_archive(
                file, columns=self.columns, log_partition=self.log_partition, ledger=ledger
            )
            # Of what cannot be read to its end the ledger says so; a folder has no hash.
            with suppress(SourceError):
                ledger.hashed(sha256(file.path.as_posix()))

        size = size_of(file.path)
        return Part(file.path.as_posix(), self.log_partition, size, read, archive=True)

    def _live(self, only: frozenset[int]) -> list[Part]:
        from offsets_tool.log.live import LiveTopic, read_client_config  # noqa: PLC0415 - kafka-python, only when needed

        assert self.bootstrap_server
        if self.columns:
            raise UsageError("--columns names columns of an archive: drop it to read a live topic")
        config = read_client_config(self.command_config) if self.command_config else {}
        topic = LiveTopic(self.bootstrap_server, config, limits=self.limits)
        count = topic.partition_count
        asked = frozenset(range(count)) if self.log_partition is None else frozenset({self.log_partition})
        wanted = asked & only if only else asked
        if not wanted or max(asked | only) >= count:
            topic.close()
            raise UsageError(
                f"{OFFSETS_TOPIC} has the partitions 0 to {count - 1}; --log-partition, --since and --until ask for others"
            )
        return [_live_part(topic, partition) for partition in sorted(wanted)]


def _live_part(topic: "LiveTopic", partition: int) -> Part:
    def read(ledger: Ledger, verify: bool) -> Iterator[Item]:
        for item in topic.read([partition]):
            ledger.size_grows(item.batch.size if isinstance(item, BatchRead) else item.size)
            ledger.add(item)
            yield item

    return Part(topic.source(partition), partition, 0, read, close=topic.close)


def _segment_part(segment: Segment, limits: Limits, *, named: bool) -> Part:
    def read(ledger: Ledger, verify: bool) -> Iterator[Item]:
        return part.or_lost(read_segment(segment, ledger=ledger, verify=verify, limits=limits), ledger)

    aside = not named and bool(segment.kind is not SegmentKind.LOG or segment.fate)
    part = Part(
        segment.source,
        segment.log_partition,
        segment.size,
        read,
        segment,
        limits=limits,
        set_aside=aside,
        # A tar is opened by its name; its members are not named.
        must_open=named and not segment.member and not segment.is_rest,
    )
    return part


def evidence_options(command: F) -> F:
    """LOG... and how to read it."""
    command = max_batch_bytes_option(command)
    for option in reversed(
        (
            click.argument("logs", nargs=-1, metavar="LOG...", type=click.Path()),
            click.option(
                "--bootstrap-server",
                metavar="HOST:PORT",
                help="Read the live topic instead of files (never writes).",
            ),
            click.option(
                "--command-config",
                metavar="FILE",
                type=click.Path(exists=True, dir_okay=False),
                help="Client properties for --bootstrap-server, as Kafka's tools take them.",
            ),
            click.option(
                "--log-partition",
                type=click.IntRange(min=0),
                metavar="N",
                help="Only this partition of __consumer_offsets; also the number of files whose directory does not say it.",
            ),
            click.option(
                "--columns",
                metavar="NAME=COLUMN,...",
                help="Where an archive keeps key, value, partition, offset, timestamp under other names.",
            ),
        )
    ):
        command = option(command)
    return command


def parse_columns(text: str | None) -> dict[str, str]:
    """`offset=kafka_offset,key=k` as a mapping."""
    pairs = [pair.partition("=") for pair in (text or "").split(",") if pair]
    if any(not (name and equals and column) for name, equals, column in pairs):
        raise UsageError(f"--columns: {text!r} is not NAME=COLUMN,...; write offset=kafka_offset,key=k")
    return {name.strip(): column.strip() for name, _, column in pairs}
