"""What LOG... and --bootstrap-server name: an ordered list of parts, each read with the same verb whatever it is.

A part is a segment, an archive or a live partition. Knows nothing about decoding.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import click

from offsets_tool.errors import UsageError
from offsets_tool.log.archive import is_archive, read_archive
from offsets_tool.log.discover import find_segments
from offsets_tool.log.ledger import Ledger
from offsets_tool.log.live import live_partitions, read_client_config, read_live
from offsets_tool.log.names import Segment
from offsets_tool.log.segment import read_segment
from offsets_tool.rows import BatchRead, LogRecord, Unreadable

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
        """The parts in reading order; `only` keeps these log partitions (and parts that do not know theirs before reading)."""
        if bool(self.paths) == bool(self.bootstrap_server):
            raise UsageError(
                "give evidence to read: a .log file, a __consumer_offsets-N directory, a broker's data directory, an archive, "
                "or --bootstrap-server HOST:PORT (one or the other)"
            )
        parts = list(self._live()) if self.bootstrap_server else list(self._files())
        return [p for p in parts if not only or p.log_partition is None or p.log_partition in only]

    def _files(self) -> Iterator[Part]:
        archives = [path for path in self.paths if is_archive(path)]
        segments = [path for path in self.paths if path not in archives]
        if segments:
            yield from (_segment_part(segment) for segment in find_segments(segments, self.log_partition))
        for path in archives:
            yield self._archive_part(path)

    def _archive_part(self, path: str) -> Part:
        def read(ledger: Ledger, verify: bool) -> Iterator[Item]:
            return read_archive(path, columns=self.columns, log_partition=self.log_partition, ledger=ledger)

        size = Path(path).stat().st_size if Path(path).is_file() else 0
        return Part(path, self.log_partition, size, read)

    def _live(self) -> Iterator[Part]:
        assert self.bootstrap_server
        server, config = self.bootstrap_server, read_client_config(self.command_config)
        for source, partition in live_partitions(server, client_config=config):
            if self.log_partition in (None, partition):
                yield Part(source, partition, 0, _live_reader(server, partition, config))


def _segment_part(segment: Segment) -> Part:
    def read(ledger: Ledger, verify: bool) -> Iterator[Item]:
        return read_segment(segment, ledger=ledger, verify=verify)

    return Part(segment.source, segment.log_partition, segment.size, read, segment)


def _live_reader(
    server: str, partition: int, config: dict[str, str]
) -> Callable[[Ledger, bool], Iterator[Item]]:
    def read(ledger: Ledger, verify: bool) -> Iterator[Item]:
        return read_live(server, log_partitions=[partition], client_config=config, ledger=ledger)

    return read


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
