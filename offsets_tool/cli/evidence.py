"""What LOG... and --bootstrap-server name: an ordered list of parts, each read with the same verb whatever it is.

A part is a segment, an archive's file or a live partition. Knows nothing about decoding. pyarrow and kafka-python are imported only
when an archive or a live topic is read.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from offsets_tool.errors import SourceError, UsageError
from offsets_tool.log.archive.files import ArchiveFile, ArchiveKind, archive_files
from offsets_tool.log.discover import find_segments
from offsets_tool.log.ledger import Ledger
from offsets_tool.log.mapping import sha256
from offsets_tool.log.names import Segment, SegmentKind
from offsets_tool.log.segment import read_segment
from offsets_tool.rows import BatchRead, LogRecord, Unreadable

if TYPE_CHECKING:
    from offsets_tool.log.live import LiveTopic

F = TypeVar("F", bound=Callable[..., Any])
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

    @property
    def path(self) -> str | None:
        """Where it lies on disk; None for a live partition."""
        return self.segment.path if self.segment else self.source if self.archive else None

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

    @classmethod
    def of(cls, options: dict[str, Any]) -> "Evidence":
        """From the options that `evidence_options` declares."""
        return cls(
            paths=options["logs"],
            log_partition=options["log_partition"],
            columns=parse_columns(options["columns"]),
            bootstrap_server=options["bootstrap_server"],
            command_config=options["command_config"],
        )

    def parts(self, only: frozenset[int] = frozenset()) -> list[Part]:
        """The parts in reading order; `only` keeps these log partitions (and parts that learn theirs by reading)."""
        if bool(self.paths) == bool(self.bootstrap_server):
            raise UsageError(
                "give evidence to read: a .log file, a __consumer_offsets-N directory, a broker's data directory, "
                "an archive, or --bootstrap-server HOST:PORT (one or the other)"
            )
        parts = list(self._live()) if self.bootstrap_server else list(self._files())
        return [p for p in parts if not only or p.log_partition is None or p.log_partition in only]

    def _files(self) -> Iterator[Part]:
        archives = {
            path: files for path in self.paths if Path(path).exists() and (files := archive_files(path))
        }
        named = {Path(path).as_posix() for path in self.paths}
        segments: list[Segment] = []
        for path in self.paths:
            try:
                segments += find_segments([path], self.log_partition)
            except SourceError:
                if path not in archives:
                    raise
        for segment in dict.fromkeys(segments):
            yield _segment_part(segment, named=segment.path in named)
        for files in archives.values():
            yield from (self._archive_part(file) for file in files)

    def _archive_part(self, file: ArchiveFile) -> Part:
        def read(ledger: Ledger, verify: bool) -> Iterator[Item]:
            from offsets_tool.log.archive.read import read_archive  # noqa: PLC0415 - pyarrow, only when it is needed

            rows = read_archive(file.path, columns=self.columns, log_partition=self.log_partition)
            for item in rows:
                ledger.add(item)
                yield item
            ledger.left_out(rows.other_topics + rows.other_partitions)
            if file.kind is not ArchiveKind.DELTA:
                ledger.hashed(sha256(file.path.as_posix()))

        size = file.path.stat().st_size if file.path.is_file() else 0
        return Part(file.path.as_posix(), self.log_partition, size, read, archive=True)

    def _live(self) -> Iterator[Part]:
        from offsets_tool.log.live import LiveTopic, read_client_config  # noqa: PLC0415 - kafka-python, only when needed

        assert self.bootstrap_server
        config = read_client_config(self.command_config) if self.command_config else {}
        topic = LiveTopic(self.bootstrap_server, config)
        for partition in range(topic.partition_count):
            if self.log_partition in (None, partition):
                yield _live_part(topic, partition)


def _live_part(topic: "LiveTopic", partition: int) -> Part:
    def read(ledger: Ledger, verify: bool) -> Iterator[Item]:
        for item in topic.read([partition]):
            ledger.size_grows(item.batch.size if isinstance(item, BatchRead) else item.size)
            ledger.add(item)
            yield item

    return Part(topic.source(partition), partition, 0, read, close=topic.close)


def _segment_part(segment: Segment, *, named: bool) -> Part:
    def read(ledger: Ledger, verify: bool) -> Iterator[Item]:
        return read_segment(segment, ledger=ledger, verify=verify)

    aside = not named and bool(segment.kind is not SegmentKind.LOG or segment.fate)
    return Part(segment.source, segment.log_partition, segment.size, read, segment, set_aside=aside)


def evidence_options(command: F) -> F:
    """LOG... and how to read it."""
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
