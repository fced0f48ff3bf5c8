"""Sources of evidence: each file, archive and live partition that was named or found, read with the same verb whatever it is.

Knows nothing about decoding. pyarrow and kafka-python are imported only when an archive or a live topic is read.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import chain
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Protocol, TypeVar

from offsets_tool.errors import SourceError, UsageError
from offsets_tool.evidence.listener import CommandStep, yields_during
from offsets_tool.lag.samples import EndSample
from offsets_tool.log.archive.files import ArchiveFile, archive_files
from offsets_tool.log.batches.limits import LIMITS, Limits
from offsets_tool.log.files.folders import PathKind, look_at, size_of
from offsets_tool.log.files.mapping import sha256
from offsets_tool.log.ledger import Ledger
from offsets_tool.log.names import OFFSETS_TOPIC, Segment, is_set_aside, offsets_directory
from offsets_tool.log.segment import or_lost, read_segment
from offsets_tool.log.storage import as_path, one_listing
from offsets_tool.log.unread_files import required_segments
from offsets_tool.rows import BatchRead, LogRecord, Unreadable

if TYPE_CHECKING:
    from offsets_tool.columns.reading import RowsRead
    from offsets_tool.log.live import LiveTopic

T = TypeVar("T")
Item = BatchRead | LogRecord | Unreadable
"""What reading gives: batches from logs, single records from archives (they keep no batches), and the bytes in between."""


class StoredLog(Protocol):
    """A log partition whose records are rows of a lake already, decoded and in the order of their offsets."""

    @property
    def begins(self) -> int:
        """The base offset of its first segment."""
        ...

    def rows(self) -> "Iterator[RowsRead]":
        """Yield the log as replay by column takes it."""
        ...

    def names(self) -> "Iterator[RowsRead]":
        """Yield the groups and topics that records name, with their places, as rows of `events`."""
        ...

    def records(self, offsets: frozenset[int] | None = None) -> Iterator[LogRecord]:
        """Yield the records, or those at some offsets."""
        ...


class StoredEnds(Protocol):
    """Samples of end offsets that a lake has."""

    @property
    def has_ends(self) -> bool:
        """Whether there are any."""
        ...

    def ends(self, topics: Collection[str]) -> Iterable[EndSample]:
        """Return the samples of the partitions of some topics."""
        ...


@dataclass(frozen=True, slots=True)
class Source:
    """One file, archive or live partition. `size` in bytes, 0 where it is not known before reading."""

    name: str
    """The path, or the address of a live partition, as records and messages name it."""
    log_partition: int | None
    size: int
    read: Callable[[Ledger, bool], Iterator[Item]] = field(repr=False)
    """Reads it all into the ledger; the flag False also reads batches whose CRC is wrong."""
    segment: Segment | None = None
    stored: StoredLog | None = None
    """Its rows, where it is of a lake."""
    is_archive: bool = False
    close: Callable[[], None] = field(default=lambda: None, repr=False)
    is_set_aside: bool = False
    """A file that Kafka no longer reads as the log (.deleted, .cleaned, .swap, -delete ...), found in a folder."""
    limits: Limits = LIMITS
    """What one of its batches may hold."""
    must_open: bool = True
    """Whether this file itself was named: then it is an error that it cannot be opened."""

    @property
    def has_rows(self) -> bool:
        """Whether its records can be had as rows."""
        return self.segment is not None or self.stored is not None

    @property
    def begins(self) -> int | None:
        """The base offset of the segment, or of the first one of a lake's log; 0 of others, None where it is not known."""
        if self.stored is not None:
            return self.stored.begins
        return 0 if self.segment is None else self.segment.base_offset

    @property
    def copy(self) -> str | None:
        """The copy of the log that it is of: the folder around its partition's, or a tar.

        For archives and live topics their name; None for files that were named one by one, which are taken for one log.
        """
        if self.segment is None:
            return self.name
        in_partition = offsets_directory(PurePosixPath(self.segment.source).parent.name) is not None
        return self.segment.directory if in_partition or not self.must_open else None

    @property
    def path(self) -> str | None:
        """The path on disk of a file or archive; None for a live partition."""
        return self.segment.path if self.segment else self.name if self.is_archive else None

    def or_lost(self, items: Iterator[T], ledger: Ledger) -> Iterator[T | Unreadable]:
        """Yield what is read of the segment; one Unreadable instead where it was found beside others and cannot be opened."""
        return items if self.must_open or self.segment is None else or_lost(items, self.segment, ledger)

    def ledger(self) -> Ledger:
        """Return an empty ledger for this source."""
        return Ledger(self.name, self.log_partition, is_archive=self.is_archive)


def records_of(item: Item) -> tuple[LogRecord, ...]:
    """Return the records of an item that was read; none of unreadable bytes."""
    if isinstance(item, BatchRead):
        return item.records
    return () if isinstance(item, Unreadable) else (item,)


def open_sources(
    paths: Sequence[str] = (),
    *,
    bootstrap_server: str | None = None,
    command_config: str | None = None,
    log_partition: int | None = None,
    columns: Mapping[str, str] | None = None,
    limits: Limits = LIMITS,
    only: frozenset[int] = frozenset(),
) -> list[Source]:
    """Return the sources below the paths, or of the live topic, in the order in which they are read.

    `log_partition` is the only partition to read, and that of files that do not say theirs. `columns` names the columns of
    archives, `limits` what a batch may hold. `only`, unless empty, leaves out sources known to be of other log partitions.
    UsageError where neither paths nor a server are named, or both are; SourceError where a path cannot be read.
    """
    if not all(paths):
        raise UsageError("LOG is an empty text; name a file or folder (a variable of the shell may be unset)")
    if bool(paths) == bool(bootstrap_server):
        raise UsageError(
            "give evidence to read: a .log file, a __consumer_offsets-N directory, a broker's data directory, "
            "an archive, or --bootstrap-server HOST:PORT (one or the other)"
        )
    if bootstrap_server:
        if columns:
            raise UsageError("--columns names columns of an archive: drop it to read a live topic")
        return _live_sources(bootstrap_server, command_config, log_partition, limits, only)
    found = _Files(paths, log_partition, columns or {}, limits).sources()
    return [each for each in found if not only or each.log_partition is None or each.log_partition in only]


@dataclass(frozen=True, slots=True)
class _Files:
    """The sources that paths on disk name: segments and archives, found by `sources`."""

    paths: Sequence[str]
    log_partition: int | None
    columns: Mapping[str, str]
    limits: Limits

    @one_listing()
    def sources(self) -> list[Source]:
        archives = {path: files for path in self.paths if (files := self._archives(path))}
        named = {as_path(path).as_posix() for path in self.paths}
        segments: list[Segment] = []
        for path in self.paths:
            if any(file.is_named for file in archives.get(path, ())):
                continue
            try:
                segments += required_segments(path, self.log_partition)
            except SourceError:
                if path not in archives:
                    raise
        if self.columns and not archives:
            raise UsageError("--columns: no archive with such columns is here; correct the names, or drop it")
        sources = [
            _segment_source(segment, self.limits, is_named=segment.path in named)
            for segment in dict.fromkeys(segments)
        ]
        # A file that was given itself and its folder too is one source, and named.
        found = sorted(chain(*archives.values()), key=lambda file: file.is_named)
        return sources + [self._archive_source(file) for file in {file.path: file for file in found}.values()]

    def _archives(self, path: str) -> list[ArchiveFile]:
        is_there = look_at(path).kind in (PathKind.FILE, PathKind.FOLDER)
        return archive_files(path, self.columns) if is_there else []

    def _archive_source(self, file: ArchiveFile) -> Source:
        @yields_during(CommandStep.READ)
        def read(ledger: Ledger, verify: bool) -> Iterator[Item]:
            from offsets_tool.log.archive.read import read_archive  # noqa: PLC0415 - pyarrow, only when it is needed

            yield from read_archive(
                file,
                columns=self.columns,
                log_partition=self.log_partition,
                ledger=ledger,
                limits=self.limits,
            )
            # Of what cannot be read to its end the ledger says so; a folder has no hash.
            with suppress(SourceError):
                ledger.hashed(sha256(file.path.as_posix()))

        size = size_of(file.path)
        return Source(file.path.as_posix(), self.log_partition, size, read, is_archive=True)


def _segment_source(segment: Segment, limits: Limits, *, is_named: bool) -> Source:
    @yields_during(CommandStep.READ)
    def read(ledger: Ledger, verify: bool) -> Iterator[Item]:
        return source.or_lost(read_segment(segment, ledger=ledger, verify=verify, limits=limits), ledger)

    is_aside = not is_named and is_set_aside(segment.kind, segment.fate)
    source = Source(
        segment.source,
        segment.log_partition,
        segment.size,
        read,
        segment,
        limits=limits,
        is_set_aside=is_aside,
        # A tar is opened by its name; its members are not named.
        must_open=is_named and not segment.member and not segment.is_rest,
    )
    return source


def _live_sources(
    bootstrap_server: str,
    command_config: str | None,
    log_partition: int | None,
    limits: Limits,
    only: frozenset[int],
) -> list[Source]:
    from offsets_tool.log.live import LiveTopic, read_client_config  # noqa: PLC0415 - kafka-python, only when needed

    config = read_client_config(command_config) if command_config else {}
    topic = LiveTopic(bootstrap_server, config, limits=limits)
    count = topic.partition_count
    asked = frozenset(range(count)) if log_partition is None else frozenset({log_partition})
    wanted = asked & only if only else asked
    if not wanted or max(asked | only) >= count:
        topic.close()
        raise UsageError(
            f"{OFFSETS_TOPIC} has the partitions 0 to {count - 1}; --log-partition, --since and --until ask for others"
        )
    return [_live_source(topic, partition) for partition in sorted(wanted)]


def _live_source(topic: "LiveTopic", partition: int) -> Source:
    @yields_during(CommandStep.READ)
    def read(ledger: Ledger, verify: bool) -> Iterator[Item]:
        for item in topic.read([partition]):
            ledger.size_grows(item.batch.size if isinstance(item, BatchRead) else item.size)
            ledger.add(item)
            yield item

    return Source(topic.source(partition), partition, 0, read, close=topic.close)
