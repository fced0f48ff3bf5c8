"""The segments in a tar of a data directory, a partition's directory or loose segments, without unpacking it.

Each member is a Segment of its own. What a tar that does not end as one still has is read, and the rest of it is an unreadable
Segment: the tar itself. Knows nothing about logs.
"""

from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import Final

from offsets_tool.log.files.checkpoints import META_FILE, MalformedFile, MetaProperties, parse_meta_properties
from offsets_tool.log.files.tar_index import TarIndex, TarMember, tar_index
from offsets_tool.log.names import (
    PartitionDirectory,
    Segment,
    member_source,
    offsets_directory,
    segment_name,
    tar_name,
)

_META_SIZE: Final = 1 << 16


def find_in_tar(path: Path) -> list[Segment]:
    """Return the segments in a tar, in its order; SourceError if it cannot be opened or none of its members can be read."""
    source = path.as_posix()
    directory_of_tar = _directory_of(path)
    tar = tar_index(source)
    metas = dict(_metas_in_tar(tar, source))
    found = []
    for member in tar.members.values():
        folder = PurePosixPath(member.name).parent
        directory = offsets_directory(folder.name) or directory_of_tar
        if segment := _segment_in_tar(source, member, directory, metas.get(folder.parent)):
            found.append(segment)
    return [*found, *_rest(path, tar)]


def _directory_of(path: Path) -> PartitionDirectory | None:
    """Return the partition that the tar's own name says; None if it says none."""
    name = tar_name(path.name)
    return offsets_directory(name.stem) if name else None


def _rest(path: Path, tar: TarIndex) -> Iterator[Segment]:
    """Return the Segment that stands for the part of a tar that nobody can list."""
    if tar.problem is None:
        return
    directory = _directory_of(path)
    yield Segment(
        path=path.as_posix(),
        log_partition=directory.partition if directory else None,
        directory=path.parent.as_posix(),
        unreadable=f"members after the {len(tar.members)} that are read are missing ({tar.problem}); copy it again",
        is_rest=True,
    )


def _metas_in_tar(tar: TarIndex, source: str) -> Iterator[tuple[PurePosixPath, MetaProperties]]:
    for member in tar.members.values():
        name = PurePosixPath(member.name)
        if name.name != META_FILE or member.problem:
            continue
        try:
            text = tar.file.read(member.start, min(member.size, _META_SIZE)).decode("utf-8", "replace")
            yield name.parent, parse_meta_properties(text, member_source(source, member.name))
        except MalformedFile:
            # As in a folder: it only labels.
            continue


def _segment_in_tar(
    source: str, member: TarMember, directory: PartitionDirectory | None, meta: MetaProperties | None
) -> Segment | None:
    path = PurePosixPath(member.name)
    name = segment_name(path.name)
    if name is None or name.base_offset is None:
        return None
    around = path.parent if directory is None else path.parent.parent
    return Segment(
        path=source,
        log_partition=directory.partition if directory else None,
        base_offset=name.base_offset,
        kind=name.kind,
        size=member.size,
        directory=member_source(source, "" if around == PurePosixPath() else around.as_posix()),
        member=member.name,
        fate=directory.fate if directory else "",
        cluster_id=meta.cluster_id if meta else None,
        broker_id=meta.broker_id if meta else None,
        unreadable=member.problem,
    )
