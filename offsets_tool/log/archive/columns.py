"""Which column of an archive is which fact of a record, and one row of it as a LogRecord.

Knows the names that Spark's Kafka source, Kafka Connect's and Aiven's sinks, Stream Reactor's envelope, kcat -J, Redpanda Connect,
Trino, ClickHouse and our own tables give them, and how keys and values become text: base64, hex, and the raw bytes of kcat.
Refuses to guess at text that is none of these. Knows nothing about files.
"""

import re
from base64 import b64decode
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Final, NamedTuple

from offsets_tool.errors import DecodeError, UsageError
from offsets_tool.log.names import OFFSETS_TOPIC
from offsets_tool.rows import NO_TIMESTAMP, Header, LogRecord, Row, TimestampType

ColumnPath = tuple[str, ...]
"""A column, or a field of a struct column."""

# Every field we look for, with its names in the order of preference, as `_plain` writes them: ClickHouse has seconds in
# `_timestamp` beside `_timestamp_ms`.
NAMES: Final[Mapping[str, Sequence[str]]] = {
    "topic": ("topic", "topicname"),
    "partition": ("logpartition", "partition", "partitionid"),
    "offset": ("logoffset", "offset", "partitionoffset"),
    "timestamp": ("timestampms", "timestamp", "ts"),
    "timestamp_type": ("timestamptype", "tstype"),
    "key": ("key", "rawkey"),
    "value": ("value", "payload", "rawvalue", "message", "rawmessage"),
    "headers": ("headers",),
    "producer_id": ("producerid",),
    "producer_epoch": ("producerepoch",),
    "sequence": ("sequence",),
    "is_transactional": ("istransactional",),
    "is_control": ("iscontrol",),
}
REQUIRED: Final = ("offset", "key", "value")

_BITS: Final = {"partition": 32, "producer_epoch": 16, "sequence": 32}
"""How wide Kafka's numbers are; the others have 64 bits."""

_KCAT_VALUE: Final = "payload"
_HEX: Final = re.compile(r"00(?:[0-9a-fA-F]{2})*")
_TIMESTAMP_TYPES: Final = {
    "-1": TimestampType.NO_TIMESTAMP,
    "0": TimestampType.CREATE_TIME,
    "1": TimestampType.LOG_APPEND_TIME,
    "create": TimestampType.CREATE_TIME,
    "logappend": TimestampType.LOG_APPEND_TIME,
    **{kind.value.lower(): kind for kind in TimestampType},
}


class Columns(NamedTuple):
    """The column of each field that the archive has, and the name by which it calls the topic."""

    by_field: Mapping[str, ColumnPath]
    topic_name: str = OFFSETS_TOPIC

    @property
    def missing(self) -> list[str]:
        """The fields that every archive needs and for which this one has no column."""
        return [field for field in REQUIRED if field not in self.by_field]

    @property
    def top_level(self) -> list[str]:
        """The columns to read, structs whole."""
        return list(dict.fromkeys(path[0] for path in self.by_field.values()))

    @property
    def raw_text(self) -> bool:
        """Whether keys and values may be raw bytes inside JSON strings: only kcat -J writes a `payload`."""
        return self.by_field.get("value") == (_KCAT_VALUE,)

    def get(self, row: Row, field: str) -> object:
        """Return the field's value in a row; None where the archive or the row has none."""
        path = self.by_field.get(field)
        if path is None:
            return None
        value = row.get(path[0])
        for name in path[1:]:
            value = value.get(name) if isinstance(value, Mapping) else None
        return value


def check_fields(chosen: Mapping[str, str]) -> None:
    """Raise UsageError where a column is named for a field that we do not know."""
    for field in chosen:
        if field not in NAMES:
            raise UsageError(f"no field is called {field!r}; fields are {', '.join(NAMES)}")


def match_columns(names: Mapping[str, ColumnPath], chosen: Mapping[str, str]) -> Columns:
    """Return the column of each field, found by its usual names among `names` (fields of structs as `outer.inner`).

    `chosen` overrides that: by field, the name of its column; for the topic also its own name in a copy, such as
    `eu-west.__consumer_offsets`. UsageError for an unknown field, and for a column that is missing.
    """
    check_fields(chosen)
    topic_name = chosen.get("topic", "")
    is_copy = topic_name not in names and topic_name.endswith(OFFSETS_TOPIC)
    chosen = {field: column for field, column in chosen.items() if not (is_copy and field == "topic")}
    for column in chosen.values():
        if column not in names:
            raise UsageError(f"there is no column {column!r}; columns are {', '.join(names)}")
    plain: dict[str, ColumnPath] = {}
    for name, path in names.items():
        plain.setdefault(_plain(name), path)
    known = {field: [plain[alias] for alias in aliases if alias in plain] for field, aliases in NAMES.items()}
    by_hand = {field: names[column] for field, column in chosen.items()}
    by_field = {field: paths[0] for field, paths in known.items() if paths} | by_hand
    return Columns(by_field, topic_name if is_copy else OFFSETS_TOPIC)


def _plain(name: str) -> str:
    """Return a column's name without case, underscores and what says only that it comes from Kafka."""
    return re.sub(r"^metadata\.|^_*kafka(?=_)|_", "", name.lower())


def read_row(row: Row, columns: Columns, source: str, log_partition: int | None) -> LogRecord:
    """Return a row as a record; `log_partition` is that of the row's file or folder, used where the row has no such column.

    Raises DecodeError for a row without an offset, or with text that cannot be turned back into bytes.
    """
    offset = _integer(columns.get(row, "offset"), "offset")
    if offset is None:
        raise DecodeError("the offset is missing", path="offset")
    partition = _integer(columns.get(row, "partition"), "partition")
    timestamp = _milliseconds(columns.get(row, "timestamp"))
    key = _bytes(columns.get(row, "key"), "key", columns.raw_text)
    value = _bytes(columns.get(row, "value"), "value", columns.raw_text)
    if columns.raw_text:
        _check_raw((key or b"") + (value or b""))
    return LogRecord(
        source=source,
        log_partition=log_partition if partition is None else partition,
        log_offset=offset,
        timestamp=NO_TIMESTAMP if timestamp is None else timestamp,
        key=key,
        value=value,
        timestamp_type=_timestamp_type(columns.get(row, "timestamp_type")),
        headers=_headers(columns.get(row, "headers"), columns.raw_text),
        producer_id=_integer(columns.get(row, "producer_id"), "producer_id"),
        producer_epoch=_integer(columns.get(row, "producer_epoch"), "producer_epoch"),
        sequence=_integer(columns.get(row, "sequence"), "sequence"),
        is_transactional=_flag(columns.get(row, "is_transactional"), "is_transactional"),
        is_control=_flag(columns.get(row, "is_control"), "is_control") or False,
        misplaced=f"offset {offset} is negative" if offset < 0 else None,
    )


def _integer(value: object, field: str) -> int | None:
    if value is None:
        return None
    # Redpanda Connect's metadata are strings.
    number = int(value) if isinstance(value, str) and re.fullmatch(r"-?[0-9]{1,19}", value) else value
    bits = _BITS.get(field, 64)
    bound = 1 << bits - 1
    if isinstance(number, int) and not isinstance(number, bool) and -bound <= number < bound:
        return number
    raise DecodeError(f"{str(value)[:40]!r} is not an int{bits}", path=field)


def _flag(value: object, field: str) -> bool | None:
    if value is None or isinstance(value, bool):
        return value
    raise DecodeError(f"{str(value)[:40]!r} is neither true nor false", path=field)


def _milliseconds(value: object) -> int | None:
    """Return epoch milliseconds, given them or a time in ISO 8601 (UTC where it names no zone); DecodeError for anything else."""
    try:
        return _integer(value, "timestamp")
    except DecodeError:
        if not isinstance(value, str):
            raise
    try:
        moment = datetime.fromisoformat(value)
    except ValueError as error:
        raise DecodeError(f"{value[:40]!r} is not a time", path="timestamp") from error
    moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    since_epoch = moment - datetime(1970, 1, 1, tzinfo=UTC)
    return since_epoch.days * 86_400_000 + since_epoch.seconds * 1000 + since_epoch.microseconds // 1000


def _timestamp_type(value: object) -> TimestampType | None:
    if value is None:
        return None
    try:
        return _TIMESTAMP_TYPES[str(value).lower()]
    except KeyError as error:
        raise DecodeError(f"{str(value)[:40]!r} is not a timestamp type", path="timestamp_type") from error


def _bytes(value: object, field: str, raw_text: bool) -> bytes | None:
    if value is None or isinstance(value, bytes):
        return value
    if not isinstance(value, str):
        raise DecodeError("neither bytes nor text, so its bytes are lost", path=field)
    # Base64 of what Kafka writes begins with AA (two bytes of a small number come first), hex with 00.
    if _HEX.fullmatch(value):
        return bytes.fromhex(value)
    try:
        return b64decode(value, validate=True)
    except ValueError as error:
        if not raw_text:
            raise DecodeError("text that is not base64, so its bytes are lost", path=field) from error
    return _raw(value, field)


def _raw(text: str, field: str) -> bytes:
    """Return the bytes of a string of kcat -J, in which each character stands for one byte; DecodeError for other characters."""
    try:
        return text.encode("latin-1")
    except UnicodeEncodeError as error:
        raise DecodeError("text that went through a converter, so its bytes are lost", path=field) from error


def _check_raw(data: bytes) -> None:
    """Raise DecodeError for bytes that a tool such as jq has turned into UTF-8 with replacement characters."""
    if b"\xef\xbf\xbd" not in data:
        return
    try:
        data.decode()
    except UnicodeDecodeError:
        return
    raise DecodeError("text with replacement characters, so its bytes are lost", path="value")


def _headers(value: object, raw_text: bool) -> tuple[Header, ...]:
    """Return headers from structs (Spark, Aiven), an object (Stream Reactor) or a flat list (kcat). Text stays: Kafka writes no
    headers into this topic, so there is nothing that would tell base64 from text.
    """
    if not value:
        return ()
    encoding = "latin-1" if raw_text else "utf-8"
    return tuple(
        Header(_header_bytes(key, encoding) or b"", _header_bytes(content, encoding))
        for key, content in _pairs(value)
    )


def _pairs(value: object) -> list[tuple[object, object]]:
    if isinstance(value, Mapping):
        return list(value.items())
    if isinstance(value, list) and all(isinstance(item, Mapping) for item in value):
        return [(item.get("key"), item.get("value")) for item in value]
    if isinstance(value, list) and all(isinstance(item, tuple) for item in value):
        return value
    if isinstance(value, list) and len(value) % 2 == 0:
        return list(zip(value[::2], value[1::2], strict=True))
    raise DecodeError("neither a list of headers nor an object", path="headers")


def _header_bytes(value: object, encoding: str) -> bytes | None:
    if value is None or isinstance(value, bytes):
        return value
    return str(value).encode(encoding, "replace")
