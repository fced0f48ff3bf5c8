"""Finds the segments of `__consumer_offsets` in any mix of files, folders and tars, in a fixed order.

Every copy stays apart: two brokers' files of one partition are two segments with two sources. Other topics' partitions are
named by `find_topics` and never read. What cannot be looked into, of what was found beside other things (a broken tar, a closed
folder), is a Segment that says why; of what was given itself, a SourceError. Knows nothing about what the files hold.
"""

import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final, NamedTuple

from offsets_tool.errors import SourceError
from offsets_tool.log.checkpoints import (
    META_FILE,
    MetaProperties,
    read_meta_properties,
    read_partition_metadata,
)
from offsets_tool.log.names import (
    NO_FILE,
    OFFSETS_TOPIC,
    PartitionDirectory,
    Segment,
    SegmentKind,
    offsets_directory,
    partition_directory,
    segment_name,
    tar_name,
)
from offsets_tool.log.tar import find_in_tar

_EXPECTED: Final = (
    f"no segment of {OFFSETS_TOPIC} is here; expected a .log file, a {OFFSETS_TOPIC}-N directory, a broker's data directory,"
    " a directory of those, or a tar of any of them"
)


class TopicDirectory(NamedTuple):
    """A partition's directory of any topic; `topic_id` is None where no partition.metadata says it."""

    path: str
    topic: str
    partition: int
    topic_id: str | None


def find_segments(paths: Iterable[str | Path], log_partition: int | None = None) -> list[Segment]:
    """All segments under the paths, ordered by data directory, partition and base offset; a file given twice is one.

    `log_partition` numbers files whose directory does not say it, and leaves out the other partitions.
    Raises SourceError for a path that does not exist, cannot be read, or holds no segment.
    """
    found: dict[tuple[str, str], Segment] = {}
    for path in paths:
        segments = list(_find(Path(path)))
        kept = list(_of_partition(segments, log_partition))
        if not kept:
            raise SourceError(Path(path).as_posix(), _nothing(segments, log_partition))
        for segment in kept:
            found.setdefault((os.path.realpath(segment.path), segment.member), segment)
    return sorted(found.values(), key=_order)


def find_topics(paths: Iterable[str | Path]) -> list[TopicDirectory]:
    """The partition directories of every topic under the paths, with their topic ids: names for what the log gives ids."""
    found = []
    for path in paths:
        for folder, directory in _partition_directories(Path(path)):
            metadata = folder / "partition.metadata"
            topic_id = _topic_id(metadata) if metadata.is_file() else None
            found.append(TopicDirectory(folder.as_posix(), directory.topic, directory.partition, topic_id))
    return sorted(found)


def _topic_id(metadata: Path) -> str | None:
    try:
        return read_partition_metadata(metadata).topic_id
    except SourceError:
        # It names the topic, as meta.properties names the cluster; what it names can be read without.
        return None


def _order(segment: Segment) -> tuple[str, int, int, str, str]:
    partition = -1 if segment.log_partition is None else segment.log_partition
    base = -1 if segment.base_offset is None else segment.base_offset
    return segment.directory, partition, base, segment.path, segment.member


def _of_partition(segments: list[Segment], log_partition: int | None) -> Iterator[Segment]:
    for segment in segments:
        # Of a tar that cannot be listed nobody knows what partitions it has.
        unknown = segment.log_partition is None and segment.unreadable
        if log_partition is None or segment.log_partition == log_partition or unknown:
            yield segment
        elif segment.log_partition is None:
            yield segment._replace(log_partition=log_partition)


def _nothing(segments: list[Segment], log_partition: int | None) -> str:
    if not segments:
        return _EXPECTED
    there = ", ".join(str(partition) for partition in sorted({s.log_partition or 0 for s in segments}))
    return f"no segment of partition {log_partition} is here; there are partitions {there}"


def _find(path: Path) -> Iterator[Segment]:
    if path.is_dir():
        segments = list(_find_in_folder(path, _meta_near(path)))
        yield from segments
        if all(segment.unreadable for segment in segments):
            yield from _loose(path)
    elif path.is_file():
        yield from _find_file(path)
    elif path.exists():
        raise SourceError(path.as_posix(), NO_FILE)
    elif path.is_symlink():
        raise SourceError(
            path.as_posix(),
            "a symbolic link that leads nowhere or to itself; give the folder it was meant for",
        )
    else:
        raise SourceError(path.as_posix(), "does not exist; check the path")


def _find_file(path: Path) -> Iterator[Segment]:
    if tar_name(path.name):
        segments = find_in_tar(path)
        named = [segment for segment in segments if segment.log_partition is not None or segment.is_rest]
        yield from segments if all(segment.is_rest for segment in named) else named
    elif segment_name(path.name):
        yield _segment(path, offsets_directory(path.resolve().parent.name), _meta_near(path.parent))
    else:
        raise SourceError(path.as_posix(), f"not named like a segment (.log); {_EXPECTED}")


def _meta_near(folder: Path) -> MetaProperties | None:
    """Of the data directory itself, or of the one around a partition's directory."""
    for candidate in (folder / META_FILE, folder.resolve().parent / META_FILE):
        if candidate.is_file():
            return _meta(candidate)
    return None


def _meta(path: Path) -> MetaProperties | None:
    """Whose data directory it is; None if that cannot be read, which is no reason not to read the log."""
    try:
        return read_meta_properties(path)
    except SourceError:
        return None


def _find_in_folder(
    folder: Path, meta: MetaProperties | None, above: frozenset[str] = frozenset()
) -> Iterator[Segment]:
    # "." and ".." say nothing; a link's own name says more than what it leads to.
    directory = offsets_directory(folder.resolve().name if folder.name in ("", "..") else folder.name)
    if directory is not None:
        yield from _segments_of(folder, directory, meta)
        return
    here = above | {os.path.realpath(folder)}
    entries = _listing(folder)
    if any(entry.name == META_FILE and entry.is_file() for entry in entries):
        meta = _meta(folder / META_FILE)
    for entry in entries:
        try:
            # All at once: either all of a folder or tar can be listed, or it is unreadable as a whole.
            yield from list(_find_in_entry(entry, meta, here))
        except SourceError as error:
            yield _unreadable(entry, error.reason)


def _find_in_entry(entry: Path, meta: MetaProperties | None, above: frozenset[str]) -> Iterator[Segment]:
    if entry.is_dir():
        # A link to a folder above leads to what is being read.
        if os.path.realpath(entry) not in above and not _is_other_topic(entry):
            yield from _find_in_folder(entry, meta, above)
    elif tar_name(entry.name) and entry.is_file():
        yield from (
            segment
            for segment in find_in_tar(entry)
            if segment.log_partition is not None or segment.unreadable
        )


def _listing(folder: Path) -> list[Path]:
    try:
        return sorted(folder.iterdir())
    except OSError as error:
        reason = f"cannot be listed ({error.strerror}); check its permissions"
        raise SourceError(folder.as_posix(), reason) from error


def _is_other_topic(folder: Path) -> bool:
    """A partition's directory by name and content: `night-1` may be a folder of copies."""
    directory = partition_directory(folder.name)
    if directory is None or directory.topic == OFFSETS_TOPIC:
        return False
    return any(
        (name := segment_name(file.name)) and name.base_offset is not None for file in _listing(folder)
    )


def _partition_directories(
    folder: Path, above: frozenset[str] = frozenset()
) -> Iterator[tuple[Path, PartitionDirectory]]:
    if not folder.is_dir():
        return
    directory = partition_directory(folder.name)
    if directory is not None and (directory.topic == OFFSETS_TOPIC or _is_other_topic(folder)):
        yield folder, directory
        return
    here = above | {os.path.realpath(folder)}
    for entry in _listing(folder):
        if os.path.realpath(entry) not in here:
            yield from _partition_directories(entry, here)


def _loose(folder: Path) -> Iterator[Segment]:
    """Segments in a folder that was given itself and is not named by Kafka."""
    if _is_other_topic(folder):
        raise SourceError(
            folder.as_posix(),
            f"a partition of another topic than {OFFSETS_TOPIC}; give the files if it is not",
        )
    yield from _segments_of(folder, None, _meta_near(folder))


def _segments_of(
    folder: Path, directory: PartitionDirectory | None, meta: MetaProperties | None
) -> Iterator[Segment]:
    for file in _listing(folder):
        name = segment_name(file.name)
        is_log = name is not None and name.base_offset is not None
        if is_log and (file.is_file() or file.is_symlink()):
            yield _segment(file, directory, meta)


def _segment(path: Path, directory: PartitionDirectory | None, meta: MetaProperties | None) -> Segment:
    name = segment_name(path.name)
    around = path.parent if directory is None else Path(os.path.normpath(path.parent / ".."))
    size, unreadable = _size(path)
    return Segment(
        path=path.as_posix(),
        log_partition=directory.partition if directory else None,
        base_offset=name.base_offset if name else None,
        kind=name.kind if name else SegmentKind.LOG,
        size=size,
        directory=around.as_posix(),
        fate=directory.fate if directory else "",
        cluster_id=meta.cluster_id if meta else None,
        broker_id=meta.broker_id if meta else None,
        unreadable=unreadable,
    )


def _size(path: Path) -> tuple[int, str]:
    """How many bytes a file has, and why they cannot be read."""
    try:
        size = path.stat().st_size
    except OSError as error:
        return 0, f"cannot be opened ({error.strerror}); copy what it stands for if it is a link"
    return size, "" if os.access(path, os.R_OK) else "cannot be opened; check its permissions"


def _unreadable(entry: Path, reason: str) -> Segment:
    """A folder or tar in which nothing can be found."""
    tar = tar_name(entry.name)
    directory = offsets_directory(tar.stem if tar else entry.name)
    return Segment(
        path=entry.as_posix(),
        log_partition=directory.partition if directory else None,
        size=0 if entry.is_dir() else _size(entry)[0],
        directory=entry.parent.as_posix(),
        unreadable=reason,
    )
