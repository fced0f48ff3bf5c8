"""Finds the segments of `__consumer_offsets` in any mix of files, folders and tars, in a fixed order.

Every copy stays apart: two brokers' files of one partition are two segments with two sources. Other topics' partitions are
named by `find_topics` and never read. Knows nothing about what the files hold.
"""

import os
import tarfile
from collections.abc import Iterable, Iterator
from pathlib import Path, PurePosixPath
from typing import IO, Final, NamedTuple

from offsets_tool.errors import SourceError
from offsets_tool.log.checkpoints import (
    MetaProperties,
    parse_meta_properties,
    read_meta_properties,
    read_partition_metadata,
)
from offsets_tool.log.mapping import open_tar, resolve_link
from offsets_tool.log.names import (
    OFFSETS_TOPIC,
    PartitionDirectory,
    Segment,
    SegmentKind,
    member_source,
    offsets_directory,
    partition_directory,
    segment_name,
    tar_name,
)

_META: Final = "meta.properties"
_META_SIZE: Final = 1 << 16
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
            topic_id = read_partition_metadata(metadata).topic_id if metadata.is_file() else None
            found.append(TopicDirectory(folder.as_posix(), directory.topic, directory.partition, topic_id))
    return sorted(found)


def _order(segment: Segment) -> tuple[str, int, int, str, str]:
    partition = -1 if segment.log_partition is None else segment.log_partition
    base = -1 if segment.base_offset is None else segment.base_offset
    return segment.directory, partition, base, segment.path, segment.member


def _of_partition(segments: list[Segment], log_partition: int | None) -> Iterator[Segment]:
    for segment in segments:
        if log_partition is None or segment.log_partition == log_partition:
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
        if segments := list(_find_in_folder(path, _meta_near(path))):
            yield from segments
        else:
            yield from _loose(path)
    elif path.is_file():
        yield from _find_file(path)
    elif path.is_symlink():
        raise SourceError(
            path.as_posix(),
            "a symbolic link that leads nowhere or to itself; give the folder it was meant for",
        )
    else:
        raise SourceError(path.as_posix(), "does not exist; check the path")


def _find_file(path: Path) -> Iterator[Segment]:
    if tar_name(path.name):
        segments = list(_find_in_tar(path))
        named = [segment for segment in segments if segment.log_partition is not None]
        yield from named or segments
    elif segment_name(path.name):
        yield _segment(path, offsets_directory(path.resolve().parent.name), _meta_near(path.parent))
    else:
        raise SourceError(path.as_posix(), f"not named like a segment (.log); {_EXPECTED}")


def _meta_near(folder: Path) -> MetaProperties | None:
    """Of the data directory itself, or of the one around a partition's directory."""
    for candidate in (folder / _META, folder.resolve().parent / _META):
        if candidate.is_file():
            return read_meta_properties(candidate)
    return None


def _find_in_folder(
    folder: Path, meta: MetaProperties | None, above: frozenset[str] = frozenset()
) -> Iterator[Segment]:
    # "." and ".." say nothing; a link's own name says more than what it leads to.
    directory = offsets_directory(folder.resolve().name if folder.name in ("", "..") else folder.name)
    if directory is not None:
        yield from _segments_of(folder, directory, meta)
        return
    entries = _entries(folder, above)
    for entry, _ in entries:
        if entry.name == _META and entry.is_file():
            meta = read_meta_properties(entry)
    for entry, inside in entries:
        if entry.is_dir():
            if not _is_other_topic(entry):
                yield from _find_in_folder(entry, meta, inside)
        elif tar_name(entry.name):
            yield from (segment for segment in _find_in_tar(entry) if segment.log_partition is not None)


def _entries(folder: Path, above: frozenset[str]) -> list[tuple[Path, frozenset[str]]]:
    """What is in a folder, by name, with the folders around it."""
    real = os.path.realpath(folder)
    if real in above:
        raise SourceError(
            folder.as_posix(), "a symbolic link leads back to a folder above it; give the folders inside"
        )
    return [(entry, above | {real}) for entry in _listing(folder)]


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
    for entry, inside in _entries(folder, above):
        yield from _partition_directories(entry, inside)


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
        if name is not None and name.base_offset is not None and file.is_file():
            yield _segment(file, directory, meta)


def _segment(path: Path, directory: PartitionDirectory | None, meta: MetaProperties | None) -> Segment:
    name = segment_name(path.name)
    around = path.parent if directory is None else Path(os.path.normpath(path.parent / ".."))
    return Segment(
        path=path.as_posix(),
        log_partition=directory.partition if directory else None,
        base_offset=name.base_offset if name else None,
        kind=name.kind if name else SegmentKind.LOG,
        size=path.stat().st_size,
        directory=around.as_posix(),
        fate=directory.fate if directory else "",
        cluster_id=meta.cluster_id if meta else None,
        broker_id=meta.broker_id if meta else None,
    )


def _find_in_tar(path: Path) -> Iterator[Segment]:
    source = path.as_posix()
    name = tar_name(path.name)
    directory_of_tar = offsets_directory(name.stem) if name else None
    with open_tar(source) as opened:
        members = [info for info in opened if info.isreg() or info.islnk()]
        metas = dict(_metas_in_tar(opened, members, source))
        for info in members:
            folder = PurePosixPath(info.name).parent
            directory = offsets_directory(folder.name) or directory_of_tar
            if segment := _segment_in_tar(source, info, directory, metas.get(folder.parent)):
                yield segment._replace(size=resolve_link(opened, info).size)


def _metas_in_tar(
    opened: tarfile.TarFile, members: list[tarfile.TarInfo], source: str
) -> Iterator[tuple[PurePosixPath, MetaProperties]]:
    for info in members:
        name = PurePosixPath(info.name)
        if name.name == _META and (file := opened.extractfile(info)):
            yield name.parent, parse_meta_properties(_text(file), member_source(source, info.name))


def _segment_in_tar(
    source: str, info: tarfile.TarInfo, directory: PartitionDirectory | None, meta: MetaProperties | None
) -> Segment | None:
    path = PurePosixPath(info.name)
    name = segment_name(path.name)
    if name is None or name.base_offset is None:
        return None
    around = path.parent if directory is None else path.parent.parent
    return Segment(
        path=source,
        log_partition=directory.partition if directory else None,
        base_offset=name.base_offset,
        kind=name.kind,
        directory=member_source(source, "" if around == PurePosixPath() else around.as_posix()),
        member=info.name,
        fate=directory.fate if directory else "",
        cluster_id=meta.cluster_id if meta else None,
        broker_id=meta.broker_id if meta else None,
    )


def _text(file: IO[bytes]) -> str:
    return file.read(_META_SIZE).decode("utf-8", "replace")
