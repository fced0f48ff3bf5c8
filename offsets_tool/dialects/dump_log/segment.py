"""Prints one segment as kafka-dump-log of a release does, byte for byte: header lines, batches, records, the rest of the file.

Where the tool would die of a record, the line has no key and payload, the tool's words are the Output's error, and the dump
continues. The report of gaps, which the tool writes to stderr at the end, is an error too. Source: DumpLogSegments.

Up to 0.10.2 a message has a line, or a wrapper as a whole, which has no key.

Of a key and a payload --offsets-decoder prints text of its own until 3.7, and Kafka's JSON of all types that the release knows from
3.8 on (KAFKA-16470). A refusal is a DecodeError with Kafka's words where the tool dies of it, and a printed sentence where the tool
continues. To Kafka's JSON the tool adds one thing: members' blobs of the consumer protocol as JSON, and as base64 where they do not
parse. Source: DumpLogSegments.OffsetsMessageParser.
"""

from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from pathlib import Path
from typing import Final, NamedTuple

from offsets_tool.dialects import knowledge
from offsets_tool.dialects.dump_log.gaps import Gaps
from offsets_tool.dialects.dump_log.lines import batch_head, batch_line, record_line
from offsets_tool.dialects.dump_log.text_decoder import (
    DELETE,
    MISSING_KEY,
    colons,
    group_in_json,
    group_in_raw_json,
    group_in_text,
    name_value_text,
)
from offsets_tool.dialects.output import Output, Printed
from offsets_tool.dialects.serde import CoordinatorRecord, UnknownRecordType, deserialize
from offsets_tool.dialects.unknown_versions import read_any_version
from offsets_tool.dialects.versions import ByRelease, name_of, newest, parse_release
from offsets_tool.errors import DecodeError, UsageError
from offsets_tool.records.classic import GroupMetadataValue
from offsets_tool.records.embedded import ConsumerProtocolAssignment, ConsumerProtocolSubscription
from offsets_tool.records.kinds import GROUP_METADATA
from offsets_tool.rows import Batch, BatchRead, Codec, LogRecord, Unreadable, UnreadableKind
from offsets_tool.wire.json import JsonObject, Release, render, text_in_json, to_json
from offsets_tool.wire.text import java_text


class DumpDecoder:
    """The decoder of one release."""

    def __init__(self, release: Release) -> None:
        self._release = release
        self._decode = newest(_DECODERS, release)

    def decode(self, record: LogRecord) -> Printed:
        """Return what the tool prints of a record's key and value; DecodeError, in Kafka's words, where the tool would die."""
        return self._decode(record, self._release)


def _json(missing_key: str) -> Callable[[LogRecord, Release], Printed]:
    def decode(record: LogRecord, release: Release) -> Printed:
        if record.key is None:
            text = f"Failed to decode message at offset {record.log_offset} using {missing_key} (message had a missing key)"
            raise DecodeError("the record has no key", kafka=text)
        try:
            found = deserialize(record.key, record.value, release)
        except UnknownRecordType as unknown:
            return Printed(f"Unknown record type {unknown.type_id} at offset {record.log_offset}, skipping.")
        except DecodeError as error:
            return Printed(f"Error at offset {record.log_offset}, skipping. {error.kafka}")
        return Printed(_json_key(found), _json_value(found))

    return decode


def _json_key(found: CoordinatorRecord) -> str:
    return render({"type": str(found.type_id), "data": to_json(found.key, 0)})


def _json_value(found: CoordinatorRecord) -> str:
    if found.version is None:
        return DELETE
    shape = max(0, found.version)
    data = to_json(found.value, shape)
    if found.type_id == GROUP_METADATA:
        expand_group(data, found.value)
    return render({"version": str(found.version), "data": data})


_DECODERS: Final[ByRelease[Callable[[LogRecord, Release], Printed]]] = (
    ((0, 9), colons(group_in_text)),
    ((1, 0), colons(group_in_raw_json)),
    ((1, 0, 1), colons(group_in_json)),
    ((2, 4, 1), name_value_text),
    ((3, 8), _json("offset topic decoder")),
    ((4, 1), _json("the specified decoder")),
)


_KEPT: Final = 1 << 14
"""Distinct blobs whose JSON is remembered: from one rebalance to the next most members keep theirs."""

_CONSUMER: Final = "consumer"
_BLOBS: Final = {"subscription": ConsumerProtocolSubscription, "assignment": ConsumerProtocolAssignment}


def expand_group(data: JsonObject, value: GroupMetadataValue) -> None:
    """Replace subscription and assignment in `data`, the JSON of `value`, if the group's protocol type is `consumer`."""
    if value.protocol_type != _CONSUMER:
        return
    for shown, member in zip(data["members"], value.members, strict=True):
        for name, cls in _BLOBS.items():
            expanded = _expand(cls, getattr(member, name))
            if expanded is not None:
                shown[name] = expanded


@lru_cache(_KEPT)
def _expand(cls: type, blob: bytes) -> JsonObject | None:
    try:
        version = knowledge.prefix(blob)
        return to_json(read_any_version(cls, version, blob), max(0, version))
    except DecodeError:
        return None


class MessageLine(NamedTuple):
    """The facts that a message line shows: of an inner message, or of a wrapper."""

    offset: int
    crc: int | None
    crc_valid: bool | None
    codec: Codec
    timestamp: int
    key_size: int
    value_size: int


_OLD_CODECS: Final = {
    Codec.NONE: "NoCompressionCodec",
    Codec.GZIP: "GZIPCompressionCodec",
    Codec.SNAPPY: "SnappyCompressionCodec",
    Codec.LZ4: "LZ4CompressionCodec",
}
_TIMESTAMPS: Final = (0, 10, 1)
_CODEC_NAMES: Final = (0, 10, 2)


def message_line(message: MessageLine, batch: Batch, release: Release) -> str:
    """Return the line of one message as 0.8.2 to 0.10.2 print it."""
    time = f" {batch.timestamp_type}: {message.timestamp}" if release >= _TIMESTAMPS else ""
    codec = (
        message.codec.upper() if release >= _CODEC_NAMES else _OLD_CODECS.get(message.codec, message.codec)
    )
    key_size = f" keysize: {message.key_size}" if message.key_size >= 0 else ""
    return (
        f"offset: {message.offset} position: {batch.position}{time} isvalid: {'true' if message.crc_valid else 'false'} "
        f"payloadsize: {message.value_size} magic: {batch.magic} compresscodec: {codec} crc: {message.crc}{key_size}"
    )


def inner_message(record: LogRecord) -> MessageLine:
    """Return what is printed of a message that holds a key and a value."""
    return MessageLine(
        record.log_offset,
        record.crc,
        record.crc_valid,
        Codec.NONE,
        record.timestamp,
        -1 if record.key is None else len(record.key),
        -1 if record.value is None else len(record.value),
    )


_WRAPPER_OVERHEAD: Final = {0: 26, 1: 34}


def wrapper_message(batch: Batch) -> MessageLine:
    """Return what is printed of a compressed wrapper: no key, the compressed messages as value."""
    return MessageLine(
        batch.last_offset,
        batch.crc,
        batch.crc_valid,
        batch.codec,
        batch.max_timestamp,
        -1,
        batch.size - _WRAPPER_OVERHEAD[batch.magic],
    )


_DECODER_SINCE: Final = (0, 9, 0, 1)
_BATCHES_SINCE: Final = (0, 11)
_BOTH_SINCE: Final = (2, 2)
"""The first release that prints lines of batches and of records; earlier ones print one or the other."""
_DECODER_IS_DEEP: Final = (1, 1)
_NEWEST_MAGIC: Final[ByRelease[int]] = (((0, 8), 0), ((0, 10), 1), ((0, 11), 2))
_ZSTD: Final = (2, 1)
_TEXTS: Final[ByRelease[Callable[[str], str]]] = (((0, 8), java_text), ((3, 8), text_in_json))
_HEADS: Final[ByRelease[str]] = (((0, 8), "Starting offset"), ((3, 3), "Log starting offset"))


class DumpLog:
    """The output of kafka-dump-log for one segment, piece by piece: `begin`, `show` for each thing in it, `end`.

    `batch`, `record` and `passed` are the parts of `show`, for callers that print a batch in parts.
    """

    def __init__(
        self,
        name: str,
        kafka_version: str,
        *,
        base_offset: int,
        records: bool = True,
        deep: bool = True,
        decoder: bool = True,
    ) -> None:
        """Prepare to print a segment; the parameters are those of `dump_log`."""
        self._name = name
        self._release = parse_release(kafka_version)
        self._base_offset = base_offset
        decodes = records and decoder
        if decodes and self._release < _DECODER_SINCE:
            raise UsageError(
                f"kafka-dump-log of {kafka_version} has no --offsets-decoder: "
                "give --kafka-version 0.9.0.1 or later, or leave the records out"
            )
        self._deep = records and (deep or (decodes and self._release >= _DECODER_IS_DEEP))
        self._decoder = DumpDecoder(self._release) if decodes else None
        self._gaps = Gaps(self._release)

    def text(self, text: str) -> str:
        """Return a name, or metadata, as it stands in the line of an offset commit."""
        return newest(_TEXTS, self._release)(text)

    @property
    def has_batches(self) -> bool:
        """Whether the release has batches; before 0.11 there were messages."""
        return self._release >= _BATCHES_SINCE

    def begin(self) -> Output:
        """Return the first lines: the file's name and first offset."""
        return _lines(f"Dumping {self._name}", f"{newest(_HEADS, self._release)}: {self._base_offset}")

    def show(self, item: BatchRead | Unreadable) -> Iterator[Output]:
        """Yield the output for a batch with its records, or for bytes that could not be read."""
        if isinstance(item, Unreadable):
            yield _unreadable(item, self._name, self._release)
            return
        yield from self._batch(item) if self.has_batches else self._messages(item)
        if item.unreadable is not None:
            yield Output(error=item.unreadable.reason)

    def end(self) -> Iterator[Output]:
        """Return the last lines, when everything has been shown."""
        return self._gaps.report(self._name)

    def passed(self, first: int, last: int) -> None:
        """Note that records at all offsets from `first` to `last` were printed with `record`, so that gaps are found."""
        self._gaps.observe(first)
        self._gaps.skip_to(last)

    def batch(self, batch: Batch) -> tuple[Output, bool]:
        """Return the line of a batch as 0.11 and later print it, perhaps empty, and whether lines of its records follow."""
        has_line = not self._deep or self._release >= _BOTH_SINCE
        foreign = _foreign(batch, self._release)
        if foreign or batch.codec is Codec.UNKNOWN:
            line = _lines(batch_head(batch, self._release)) if has_line else Output()
            return line._replace(error=foreign), False
        return _lines(batch_line(batch, self._release)) if has_line else Output(), self._deep

    def record(self, record: LogRecord) -> Output:
        """Return the line of a record of a batch as 0.11 and later print it."""
        assert record.batch is not None
        try:
            line = record_line(record, record.batch, self._release)
        except DecodeError as error:
            return Output(error=error.kafka)
        return _lines(line) if record.batch.is_control else self._with_contents(line, record)

    def _batch(self, read: BatchRead) -> Iterator[Output]:
        line, has_records = self.batch(read.batch)
        yield line
        for record in read.records if has_records else ():
            self._gaps.observe(record.log_offset)
            yield self.record(record)

    def _messages(self, read: BatchRead) -> Iterator[Output]:
        """Yield what releases up to 0.10.2 print: a line for each message, or for a wrapper as a whole."""
        if foreign := _foreign(read.batch, self._release):
            yield Output(error=foreign)
            return
        if read.batch.codec is not Codec.NONE and not self._deep:
            self._gaps.skip_to(read.batch.last_offset)
            line = _lines(message_line(wrapper_message(read.batch), read.batch, self._release))
            yield line if self._decoder is None else line._replace(error=MISSING_KEY)
            return
        for record in read.records:
            self._gaps.observe(record.log_offset)
            line_of = message_line(inner_message(record), read.batch, self._release)
            yield self._with_contents(line_of, record)

    def _with_contents(self, line: str, record: LogRecord) -> Output:
        if self._decoder is None:
            return _lines(line)
        try:
            printed = self._decoder.decode(record)
        except DecodeError as error:
            return _lines(line)._replace(error=error.kafka)
        key = "" if printed.key is None else f" key: {printed.key}"
        payload = "" if printed.payload is None else f" payload: {printed.payload}"
        return _lines(f"{line}{key}{payload}")


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
    """Yield what kafka-dump-log prints for the segment `name`; `reads` is its content, read without refusing wrong checksums.

    `deep` is --deep-iteration; `decoder` is --offsets-decoder --print-data-log, which implies it from 1.1 on. Without `records`
    there are neither. Raises UsageError for a release that is none, or that cannot decode offsets.
    """
    dump = DumpLog(name, kafka_version, base_offset=base_offset, records=records, deep=deep, decoder=decoder)
    return _dump(dump, reads)


def _dump(dump: DumpLog, reads: Iterable[BatchRead | Unreadable]) -> Iterator[Output]:
    yield dump.begin()
    for item in reads:
        yield from dump.show(item)
    yield from dump.end()


def _lines(*lines: str) -> Output:
    return Output("".join(f"{line}\n" for line in lines).encode())


def _foreign(batch: Batch, release: Release) -> str | None:
    """Return why an older release cannot read a batch: its codec (in Kafka's words) or its format (in ours); None if it can."""
    if batch.magic > newest(_NEWEST_MAGIC, release):
        return f"the batch at offset {batch.base_offset} has magic {batch.magic}, which Kafka {name_of(release)} does not know"
    if batch.codec is Codec.ZSTD and release < _ZSTD:
        return "Unknown compression type id: 4"
    return None


_ZEROS_ARE_CORRUPT: Final[ByRelease[Callable[[str], str] | None]] = (
    ((0, 8), None),
    ((0, 10, 2), lambda _: "Record size is smaller than minimum record overhead (14)."),
    ((2, 0), lambda name: f"Found record size 0 smaller than minimum record overhead (14) in file {name}."),
)
_HEADER_SIZE: Final = 17


def _unreadable(found: Unreadable, name: str, release: Release) -> Output:
    """Return what is printed of bytes that hold no batch: their number at the end of the file, or what the tool dies of.

    What Kafka makes of damage before the end depends on the bytes that it takes for the next header; there the reason is ours.
    """
    corrupt = newest(_ZEROS_ARE_CORRUPT, release)
    if found.kind is UnreadableKind.ZERO_TAIL and corrupt is not None and found.size > _HEADER_SIZE:
        return Output(error=corrupt(name))
    if found.kind in (UnreadableKind.ZERO_TAIL, UnreadableKind.TORN_TAIL):
        return _lines(f"Found {found.size} invalid bytes at the end of {Path(name).name}")
    return Output(error=found.reason)
