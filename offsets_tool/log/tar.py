"""The segments in a tar of a data directory, a partition's directory or loose segments, without unpacking it.

Each member is a Segment of its own. A tar that does not end as one is refused, whatever could be listed. Knows nothing about logs.
"""

import tarfile
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import IO, Final

from offsets_tool.errors import SourceError
from offsets_tool.log.checkpoints import META_FILE, MetaProperties, parse_meta_properties
from offsets_tool.log.mapping import open_tar, resolve_link
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
    """In the order of the tar. SourceError for one that cannot be opened, is cut off or damaged."""
    source = path.as_posix()
    name = tar_name(path.name)
    directory_of_tar = offsets_directory(name.stem) if name else None
    found = []
    with open_tar(source) as opened:
        members = [info for info in opened if info.isreg() or info.islnk()]
        metas = dict(_metas_in_tar(opened, members, source))
        for info in members:
            folder = PurePosixPath(info.name).parent
            directory = offsets_directory(folder.name) or directory_of_tar
            if segment := _segment_in_tar(source, info, directory, metas.get(folder.parent)):
                found.append(_sized(segment, opened, info))
    return found


def _sized(segment: Segment, opened: tarfile.TarFile, info: tarfile.TarInfo) -> Segment:
    try:
        return segment._replace(size=resolve_link(opened, info).size)
    except KeyError:
        return segment._replace(unreadable=f"a hard link to {info.linkname}, which is not in the tar")


def _metas_in_tar(
    opened: tarfile.TarFile, members: list[tarfile.TarInfo], source: str
) -> Iterator[tuple[PurePosixPath, MetaProperties]]:
    for info in members:
        name = PurePosixPath(info.name)
        if name.name != META_FILE:
            continue
        try:
            with opened.extractfile(info) as file:  # type: ignore[union-attr]  # None only for what is no file
                yield name.parent, parse_meta_properties(_text(file), member_source(source, info.name))
        except (SourceError, KeyError):
            # As in a folder: it only labels. KeyError: a hard link to what is not there.
            continue


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
