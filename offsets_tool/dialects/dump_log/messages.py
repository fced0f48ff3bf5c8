"""The lines of kafka-dump-log up to 0.10.2: one for a message, or one for a wrapper as a whole, before key and payload.

Put together from the facts of Batch and LogRecord; a wrapper has no key. Source: Kafka's DumpLogSegments.
"""

from typing import Final, NamedTuple

from offsets_tool.rows import Batch, Codec, LogRecord
from offsets_tool.wire.json import Release


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
