"""kafka-dump-log of a release over one segment, byte for byte: header lines, batches, records, what is left at the end.

Where the tool would die of a record, the line stays without key and payload, its words are the Output's error, and the dump goes
on. What the tool says to stderr in the end (offsets that do not follow each other) comes as an error too. Source: DumpLogSegments.
"""

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Final, NamedTuple

from offsets_tool.dialects.dump_decoder import DumpDecoder
from offsets_tool.dialects.dump_lines import batch_head, batch_line, record_line
from offsets_tool.dialects.dump_messages import inner_message, message_line, wrapper_message
from offsets_tool.dialects.gaps import Gaps
from offsets_tool.dialects.output import Output
from offsets_tool.dialects.text_decoder import MISSING_KEY
from offsets_tool.dialects.versions import Release, Table, name_of, newest, parse_release
from offsets_tool.errors import DecodeError, UsageError
from offsets_tool.rows import Batch, BatchRead, Codec, LogRecord, Unreadable, UnreadableKind

_DECODER_SINCE: Final = (0, 9, 0, 1)
_BATCHES_SINCE: Final = (0, 11)
_BOTH_SINCE: Final = (2, 2)
"""Since then a batch has its line beside those of its records; before, one or the other."""
_DECODER_IS_DEEP: Final = (1, 1)
_NEWEST_MAGIC: Final[Table[int]] = (((0, 8), 0), ((0, 10), 1), ((0, 11), 2))
_ZSTD: Final = (2, 1)
_HEADS: Final[Table[str]] = (((0, 8), "Starting offset"), ((3, 3), "Log starting offset"))


class _Asked(NamedTuple):
    release: Release
    deep: bool
    decoder: DumpDecoder | None


def dump_log(
    name: str,
    reads: Iterable[BatchRead | Unreadable],
    kafka_version: str,
    *,
    base_offset: int,
    records: bool = True,
    deep: bool = True,
    decoder: bool = True,
) -> Iterator[Output]:
    """What kafka-dump-log prints for the segment `name`, whose content `reads` is (read without refusing wrong checksums).

    `deep` is --deep-iteration; `decoder` is --offsets-decoder --print-data-log, which implies it from 1.1 on. Without `records`
    there are neither. Raises UsageError for a release that is none, or that cannot decode offsets.
    """
    release = parse_release(kafka_version)
    decodes = records and decoder
    if decodes and release < _DECODER_SINCE:
        raise UsageError(
            f"kafka-dump-log of {kafka_version} has no --offsets-decoder: "
            "give --kafka-version 0.9.0.1 or later, or leave the records out"
        )
    is_deep = records and (deep or (decodes and release >= _DECODER_IS_DEEP))
    asked = _Asked(release, is_deep, DumpDecoder(release) if decodes else None)
    return _dump(name, reads, base_offset, asked)


def _dump(
    name: str, reads: Iterable[BatchRead | Unreadable], base_offset: int, asked: _Asked
) -> Iterator[Output]:
    yield _lines(f"Dumping {name}", f"{newest(_HEADS, asked.release)}: {base_offset}")
    dump_batch = _messages if asked.release < _BATCHES_SINCE else _batch
    gaps = Gaps(asked.release)
    for item in reads:
        if isinstance(item, Unreadable):
            yield _unreadable(item, name, asked.release)
        else:
            yield from dump_batch(item, asked, gaps)
            if item.unreadable is not None:
                yield Output(error=item.unreadable.reason)
    yield from gaps.report(name)


def _lines(*lines: str) -> Output:
    return Output("".join(f"{line}\n" for line in lines).encode())


def _messages(read: BatchRead, asked: _Asked, gaps: Gaps) -> Iterator[Output]:
    """Up to 0.10.2: a line for each message, or for a wrapper as a whole."""
    if foreign := _foreign(read.batch, asked.release):
        yield Output(error=foreign)
        return
    if read.batch.codec is not Codec.NONE and not asked.deep:
        gaps.skip_to(read.batch.last_offset)
        line = message_line(wrapper_message(read.batch), read.batch, asked.release)
        if asked.decoder is None:
            yield _lines(line)
        else:
            yield _lines(line)._replace(error=MISSING_KEY)
        return
    for record in read.records:
        gaps.see(record.log_offset)
        yield _with_contents(message_line(inner_message(record), read.batch, asked.release), record, asked)


def _batch(read: BatchRead, asked: _Asked, gaps: Gaps) -> Iterator[Output]:
    """0.11 and later: a line for the batch, lines for its records, or both."""
    has_line = not asked.deep or asked.release >= _BOTH_SINCE
    foreign = _foreign(read.batch, asked.release)
    if foreign or read.batch.codec is Codec.UNKNOWN:
        line = _lines(batch_head(read.batch, asked.release)) if has_line else Output()
        yield line._replace(error=foreign)
        return
    if has_line:
        yield _lines(batch_line(read.batch, asked.release))
    if not asked.deep:
        return
    for record in read.records:
        gaps.see(record.log_offset)
        yield _record(record, read, asked)


def _foreign(batch: Batch, release: Release) -> str | None:
    """Why a release that is older than the batch cannot read it: its codec (in Kafka's words) or its format (in ours)."""
    if batch.magic > newest(_NEWEST_MAGIC, release):
        return f"the batch at offset {batch.base_offset} has magic {batch.magic}, which Kafka {name_of(release)} does not know"
    if batch.codec is Codec.ZSTD and release < _ZSTD:
        return "Unknown compression type id: 4"
    return None


def _record(record: LogRecord, read: BatchRead, asked: _Asked) -> Output:
    try:
        line = record_line(record, read.batch, asked.release)
    except DecodeError as error:
        return Output(error=error.kafka)
    return _lines(line) if read.batch.is_control else _with_contents(line, record, asked)


def _with_contents(line: str, record: LogRecord, asked: _Asked) -> Output:
    if asked.decoder is None:
        return _lines(line)
    try:
        printed = asked.decoder.decode(record)
    except DecodeError as error:
        return _lines(line)._replace(error=error.kafka)
    key = "" if printed.key is None else f" key: {printed.key}"
    payload = "" if printed.payload is None else f" payload: {printed.payload}"
    return _lines(f"{line}{key}{payload}")


_ZEROS_ARE_CORRUPT: Final[Table[Callable[[str], str] | None]] = (
    ((0, 8), None),
    ((0, 10, 2), lambda _: "Record size is smaller than minimum record overhead (14)."),
    ((2, 0), lambda name: f"Found record size 0 smaller than minimum record overhead (14) in file {name}."),
)
_HEADER_SIZE: Final = 17


def _unreadable(found: Unreadable, name: str, release: Release) -> Output:
    """Kafka stops where a batch is cut off, and dies where a header says that a batch has no size.

    What it makes of other damage depends on the bytes it takes for the next header; there the reason is ours.
    """
    corrupt = newest(_ZEROS_ARE_CORRUPT, release)
    if found.kind is UnreadableKind.ZERO_TAIL and corrupt is not None and found.size > _HEADER_SIZE:
        return Output(error=corrupt(name))
    if found.kind in (UnreadableKind.ZERO_TAIL, UnreadableKind.TORN_TAIL):
        return _lines(f"Found {found.size} invalid bytes at the end of {Path(name).name}")
    return Output(error=found.reason)
