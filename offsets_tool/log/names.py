"""What the names of Kafka's files and directories say: partition, base offset, and what became of a file.

A Segment is one file (or one member of a tar) that holds a log. Knows nothing about what is in it and opens nothing.
Source: Kafka's LogFileUtils and LocalLog.
"""

import re
from bisect import bisect_right
from collections.abc import Iterable
from enum import StrEnum
from pathlib import PurePosixPath
from typing import Final, NamedTuple

OFFSETS_TOPIC: Final = "__consumer_offsets"
NO_FILE: Final = "is neither a file nor a folder; copy what it gives into a file, and give that"
"""Why a pipe, a device or a socket is refused: evidence is looked at more than once."""

_PARTITION_DIRECTORY: Final = re.compile(
    r"(?P<topic>.+?)-(?P<partition>[0-9]{1,10})(?:(?:\.[^/]*)?-(?P<fate>delete|future|stray))?"
)
_SEGMENT_FILE: Final = re.compile(
    r"(?P<stem>.+)\.log(?:\.(?P<fate>deleted|cleaned|swap))?(?:\.(?P<packing>gz|zst|bz2|xz|lz4))?", re.DOTALL
)
_TAR_FILE: Final = re.compile(
    r"(?P<stem>.+?)\.(?:tar(?:\.(?P<packing>gz|zst|bz2|xz|lz4))?|(?P<short>tgz|tzst|tbz2?|txz))", re.DOTALL
)
_SHORT: Final = {"tgz": "gz", "tzst": "zst", "tbz": "bz2", "tbz2": "bz2", "txz": "xz"}
_BASE_OFFSET: Final = re.compile(r"[0-9]{20}")
_HIGHEST_OFFSET: Final = (1 << 63) - 1
_HIGHEST_PARTITION: Final = (1 << 31) - 1


class SegmentKind(StrEnum):
    """The state of a segment, by its suffix: in use, about to be deleted, being written or put in place by the cleaner."""

    LOG = "log"
    DELETED = "deleted"
    CLEANED = "cleaned"
    SWAP = "swap"


SET_ASIDE: Final = ".deleted, .cleaned, .swap, -delete ..."
"""How names of set-aside files end, to say it."""


def is_set_aside(kind: SegmentKind, fate: str = "") -> bool:
    """Return whether Kafka has renamed a file or its directory, so that it is no part of its log; `fate` is the directory's."""
    return kind is not SegmentKind.LOG or bool(fate)


def not_replayed(files: int) -> str:
    """Return the sentence that a number of set-aside files are not replayed."""
    return (
        f"{files} file(s) that Kafka has set aside ({SET_ASIDE}) are not replayed, as a running broker does not read them; a .swap "
        "it puts in place when it starts: name that file to read it"
    )


class Packing(StrEnum):
    """The compression of a copy of a file, by its suffix."""

    NONE = ""
    GZIP = "gz"
    ZSTD = "zst"
    BZIP2 = "bz2"
    XZ = "xz"
    LZ4 = "lz4"


class PartitionDirectory(NamedTuple):
    """The topic and partition in a directory's name; `fate` is delete, future or stray if Kafka renamed it so, else empty."""

    topic: str
    partition: int
    fate: str = ""


class SegmentName(NamedTuple):
    """The parts of a file's name; `base_offset` is None when the name does not begin with Kafka's 20 digits."""

    base_offset: int | None
    kind: SegmentKind
    packing: Packing


class TarName(NamedTuple):
    """The name of a tar without its suffixes, and how the tar is compressed."""

    stem: str
    packing: Packing


class Segment(NamedTuple):
    """One file that holds a log, as its name and its surroundings describe it.

    `path` is as it was given, with `member` the name inside it when it is a tar; `size` counts bytes as they lie on disk
    (of the member, in a tar). `directory` is the copy it belongs to: the data directory around the partition's own.
    """

    path: str
    log_partition: int | None = None
    base_offset: int | None = None
    kind: SegmentKind = SegmentKind.LOG
    size: int = 0
    directory: str = ""
    member: str = ""
    fate: str = ""
    """delete, future or stray: what Kafka had renamed the partition's directory for."""
    cluster_id: str | None = None
    broker_id: int | None = None
    next_offset: int | None = None
    """Base offset of the segment that follows it in its partition's directory; None where none is known to."""
    unreadable: str = ""
    """Why nothing of it can be read (a broken tar, a closed folder, a link to nowhere), of what was found beside other files."""
    is_rest: bool = False
    """Whether it stands for what of a tar cannot be listed, beside the members that can."""

    @property
    def source(self) -> str:
        """The name that records, batches and the ledger carry."""
        return member_source(self.path, self.member)


def followed(segments: Iterable[Segment]) -> list[Segment]:
    """Return the segments in their order, each with the base offset of the next one in its partition's directory.

    Only segments in use with content have a follower and are one: files that Kafka has set aside or is about to put in place
    overlap them. Loose files, whose partition no directory names, say nothing about each other.
    """
    segments = list(segments)
    bases: dict[tuple[str, str], set[int]] = {}
    for segment in filter(_is_in_use, segments):
        # A name alone says nothing against another file's records.
        if segment.size and not segment.unreadable:
            bases.setdefault(_folder(segment), set()).add(segment.base_offset or 0)
    rising = {folder: sorted(found) for folder, found in bases.items()}
    return [
        segment._replace(next_offset=_next(rising.get(_folder(segment), []), segment.base_offset or 0))
        if _is_in_use(segment)
        else segment
        for segment in segments
    ]


def _next(bases: list[int], base_offset: int) -> int | None:
    at = bisect_right(bases, base_offset)
    return bases[at] if at < len(bases) else None


def _is_in_use(segment: Segment) -> bool:
    is_of_partition = segment.log_partition is not None and segment.base_offset is not None
    return not is_set_aside(segment.kind) and is_of_partition


def _folder(segment: Segment) -> tuple[str, str]:
    """Return the tar that a segment is in, empty if it is in none, and its folder."""
    path = PurePosixPath(segment.member or segment.path)
    return segment.path if segment.member else "", path.parent.as_posix()


def member_source(path: str, member: str) -> str:
    """Return the one name of a file, or of a member of a tar."""
    return f"{path}!/{member}" if member else path


def partition_directory(name: str) -> PartitionDirectory | None:
    """Return the topic and partition of a directory's name: `topic-N`, also with `.uuid-delete`, `-future` or `-stray`.

    None if it is not such a name, or the number is higher than a partition's can be.
    """
    match = _PARTITION_DIRECTORY.fullmatch(name)
    if match is None or int(match["partition"]) > _HIGHEST_PARTITION:
        return None
    return PartitionDirectory(match["topic"], int(match["partition"]), match["fate"] or "")


def offsets_directory(name: str) -> PartitionDirectory | None:
    """Return the partition of a directory's name if it is one of `__consumer_offsets`, with Kafka's suffixes or without; else
    None.
    """
    directory = partition_directory(name)
    return directory if directory is not None and directory.topic == OFFSETS_TOPIC else None


def segment_name(name: str) -> SegmentName | None:
    """Return what a file's name says: `<base offset>.log` with any of Kafka's suffixes, perhaps compressed; None if it is not a
    log.
    """
    match = _SEGMENT_FILE.fullmatch(name)
    if match is None:
        return None
    base = int(match["stem"]) if _BASE_OFFSET.fullmatch(match["stem"]) else None
    base = None if base is None or base > _HIGHEST_OFFSET else base
    return SegmentName(base, SegmentKind(match["fate"] or "log"), Packing(match["packing"] or ""))


def tar_name(name: str) -> TarName | None:
    """Return the parts of the name of a tar, perhaps compressed; None for other names."""
    match = _TAR_FILE.fullmatch(name)
    if match is None:
        return None
    return TarName(match["stem"], Packing(_SHORT.get(match["short"], match["packing"] or "")))
