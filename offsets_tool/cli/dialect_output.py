"""Kafka's dialects on the command line: its text to stdout, its exceptions' words to stderr, and on with the next record."""

import os
from collections.abc import Callable, Iterator
from typing import BinaryIO

from offsets_tool.cli.evidence import Part
from offsets_tool.cli.reading import Reading
from offsets_tool.cli.render import note
from offsets_tool.dialects import formatter
from offsets_tool.dialects.dump_log import dump_log
from offsets_tool.dialects.output import Output
from offsets_tool.dialects.versions import NEWEST, name_of
from offsets_tool.errors import UsageError
from offsets_tool.rows import BatchRead, LogRecord, Unreadable

Write = Callable[[BinaryIO, Reading], None]


def formatter_writer(name: str, kafka_version: str | None) -> Write:
    """The console consumer with one of Kafka's formatters: data records only, part after part."""
    dialect = formatter(name, kafka_version)

    def write(out: BinaryIO, reading: Reading) -> None:
        _leave_out_set_aside(reading)
        for event in reading.events():
            if event.record.is_control:
                continue
            _print(out, reading, dialect.format(event.record), counted=event.problem is not None)

    return write


def dump_log_writer(kafka_version: str | None, *, records: bool) -> Write:
    """kafka-dump-log over each segment, with or without its record lines."""

    def write(out: BinaryIO, reading: Reading) -> None:
        _leave_out_set_aside(reading)
        for part in reading.parts:
            lines = dump_log(
                _file_name(part),
                _reads(reading, part),
                kafka_version or name_of(NEWEST),
                base_offset=_base_offset(part),
                records=records,
            )
            for line in lines:
                # What is wrong with a record or with bytes was counted when they were read.
                _print(out, reading, line, counted=True)

    return write


def _print(out: BinaryIO, reading: Reading, said: Output, *, counted: bool) -> None:
    out.write(said.text)
    if said.harmless and said.error is not None:
        note(said.error)
    elif said.error is not None:
        out.flush()
        reading.refused(said.error, counted=counted)


def _leave_out_set_aside(reading: Reading) -> None:
    """Kafka's tools read the log as the broker does; what it has set aside is left out, and said."""
    aside = [part for part in reading.parts if part.set_aside]
    if aside:
        reading.parts = [part for part in reading.parts if not part.set_aside]
        note(
            f"{len(aside)} file(s) that Kafka had set aside are not part of its log; name them to see them: {aside[0].source}"
        )


def _file_name(part: Part) -> str:
    """As text that can be printed: a name on disk may be any bytes."""
    path = part.segment.path if part.segment else part.source
    return os.fsencode(path).decode("utf-8", "replace")


def _base_offset(part: Part) -> int:
    if part.segment is None or part.segment.base_offset is None:
        return 0
    return part.segment.base_offset


def _reads(reading: Reading, part: Part) -> Iterator[BatchRead | Unreadable]:
    """The part's batches with the records that the filters let through; batches without any are left out then."""
    for item in reading.items(part, verify=False):
        if isinstance(item, LogRecord):
            raise UsageError(
                "an archive keeps no batches for dump-log to print: use --formatter offsets, or drop it"
            )
        shown = tuple(event.record for event in reading.decoded(item) if reading.filters.matches(event))
        if not isinstance(item, BatchRead) or not reading.filters.active:
            yield item
        elif shown:
            yield item._replace(records=shown)
