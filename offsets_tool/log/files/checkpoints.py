"""Kafka's text files beside the log: checkpoints, partition.metadata, meta.properties.

Read strictly, as Kafka reads them: what is not as declared is a MalformedFile with the line. No file is a MissingSource, and one
that cannot be read another SourceError: what it says would be lost in silence. Knows nothing about segments.
Source: CheckpointFile, OffsetCheckpointFile, LeaderEpochCheckpointFile, PartitionMetadataFile, MetaProperties.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

from offsets_tool.errors import MissingSource, SourceError
from offsets_tool.log.files.mapping import raw_pieces
from offsets_tool.log.files.open_file import read_whole

META_FILE: Final = "meta.properties"
_NUMBER: Final = re.compile("[+-]?[0-9]{1,19}")


class MalformedFile(SourceError):
    """A file that was read, and does not have the lines that Kafka writes."""


NOT_SAID: Final = (MissingSource, MalformedFile)
"""The errors after which what a file would say is unknown; any other is of a file that is there and cannot be read."""


class PartitionOffset(NamedTuple):
    """One line of a data directory's `*-offset-checkpoint`: recovery point, high watermark, log start, first dirty offset."""

    topic: str
    partition: int
    offset: int


class EpochStart(NamedTuple):
    """One line of leader-epoch-checkpoint: the first offset written under a leader epoch."""

    epoch: int
    start_offset: int


class PartitionMetadataFile(NamedTuple):
    """partition.metadata: the topic id in Kafka's base64 form."""

    version: int
    topic_id: str


class MetaProperties(NamedTuple):
    """meta.properties: whose data directory this is; what a version does not know is None."""

    version: int
    cluster_id: str | None
    broker_id: int | None


def read_offset_checkpoint(path: str | Path, member: str = "") -> tuple[PartitionOffset, ...]:
    """Read a recovery-point-, replication-, log-start- or cleaner-offset-checkpoint: `topic partition offset` a line.

    MalformedFile for a file that is cut off, of another version, or has a line that is not so.
    """
    entries = []
    for number, line in _entries(path, member):
        # A topic's name has no blanks, but cut from the right all the same: the numbers are what is certain.
        fields = line.rsplit(maxsplit=2)
        entries.append(
            PartitionOffset(_field(path, number, fields, 3)[0], *_numbers(path, number, fields[1:]))
        )
    return tuple(entries)


def read_leader_epochs(path: str | Path, member: str = "") -> tuple[EpochStart, ...]:
    """Read a leader-epoch-checkpoint, which has `epoch startOffset` a line; MalformedFile for a line that is not so."""
    return tuple(
        EpochStart(*_numbers(path, number, _field(path, number, line.split(), 2)))
        for number, line in _entries(path, member)
    )


def read_partition_metadata(path: str | Path, member: str = "") -> PartitionMetadataFile:
    """Read a partition.metadata, which has `version: 0` and `topic_id: ...`; MalformedFile if it has no topic id."""
    values = dict(_pairs(_text(path, member), ":"))
    if "topic_id" not in values:
        raise MalformedFile(
            str(path), "has no topic_id; partition.metadata has `version: N` and `topic_id: ID`"
        )
    return PartitionMetadataFile(_numbers(path, 1, [values.get("version", "0")])[0], values["topic_id"])


def read_meta_properties(path: str | Path) -> MetaProperties:
    """Read a meta.properties of version 0 (broker.id) or 1 (node.id); MalformedFile for a number that is none."""
    return parse_meta_properties(_text(path, ""), str(path))


def parse_meta_properties(text: str, source: str) -> MetaProperties:
    """Return meta.properties from its text; `source` names it in a MalformedFile for a number that is none."""
    values = dict(_pairs(text, "="))
    node = values.get("node.id", values.get("broker.id"))
    return MetaProperties(
        version=_numbers(source, 1, [values.get("version", "0")])[0],
        cluster_id=values.get("cluster.id"),
        broker_id=None if node is None else _numbers(source, 1, [node])[0],
    )


def _text(path: str | Path, member: str) -> str:
    """Return the text of a file, or of a member of a tar."""
    content = b"".join(raw_pieces(str(path), member)) if member else read_whole(path)
    try:
        return content.decode()
    except UnicodeDecodeError as error:
        raise MalformedFile(str(path), f"cannot be read as text ({error}); check the path") from error


def _entries(path: str | Path, member: str) -> Iterator[tuple[int, str]]:
    """Yield a checkpoint's lines after its version (0) and their count, which must be right; an empty file has none."""
    lines = _text(path, member).splitlines()
    if not lines:
        return
    if len(lines) < 2 or lines[0].strip() != "0":
        raise MalformedFile(
            str(path), "is not a checkpoint of version 0: `0`, the number of entries, then the entries"
        )
    entries = [(number, line) for number, line in enumerate(lines[2:], 3) if line.strip()]
    expected = _numbers(path, 2, [lines[1]])[0]
    if len(entries) != expected:
        raise MalformedFile(
            str(path), f"says {expected} entries and has {len(entries)}: it was cut off or is being written"
        )
    yield from entries


def _pairs(text: str, separator: str) -> Iterator[tuple[str, str]]:
    for line in text.splitlines():
        key, found, value = line.partition(separator)
        if found and not line.startswith("#"):
            yield key.strip(), value.strip()


def _field(path: str | Path, number: int, fields: list[str], count: int) -> list[str]:
    if len(fields) != count:
        raise MalformedFile(str(path), f"line {number} has {len(fields)} fields, not {count}")
    return fields


def _numbers(path: str | Path, number: int, fields: list[str]) -> list[int]:
    if not all(map(_NUMBER.fullmatch, fields)):
        raise MalformedFile(
            str(path),
            f"line {number} has {' '.join(fields)[:80]!r} where numbers belong; correct or remove it",
        )
    return [int(field) for field in fields]
