"""Finds the partition directories of every topic, with their topic ids: they name topic ids, and their logs say where ends are.

Directories are found by name and content, and not read. Knows nothing about segments of `__consumer_offsets`.
"""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from offsets_tool.errors import SourceError
from offsets_tool.log.discover import is_other_topic
from offsets_tool.log.files.checkpoints import read_partition_metadata
from offsets_tool.log.files.folders import Entry, PathKind, look_at, walk
from offsets_tool.log.names import OFFSETS_TOPIC, PartitionDirectory, partition_directory
from offsets_tool.log.storage import as_path, one_listing


class TopicDirectory(NamedTuple):
    """A partition's directory of any topic; `topic_id` is None where no partition.metadata says it."""

    path: str
    topic: str
    partition: int
    topic_id: str | None


@one_listing()
def find_topics(paths: Iterable[str | Path]) -> list[TopicDirectory]:
    """Return the partition directories of every topic under the paths, in order; folders that cannot be listed have none.

    SourceError for a path that cannot be looked at itself.
    """
    found = []
    for path in paths:
        for folder, directory in _partition_directories(as_path(path)):
            found.append(
                TopicDirectory(folder.as_posix(), directory.topic, directory.partition, _topic_id(folder))
            )
    return sorted(found)


def _topic_id(folder: Path) -> str | None:
    metadata = folder / "partition.metadata"
    if look_at(metadata).kind is not PathKind.FILE:
        return None
    try:
        return read_partition_metadata(metadata).topic_id
    except SourceError:
        # It names the topic, as meta.properties names the cluster; what it names can be read without.
        return None


def _partition_directories(top: Path) -> Iterator[tuple[Path, PartitionDirectory]]:
    given = look_at(top)
    if given.problem:
        raise SourceError(top.as_posix(), given.problem)
    if given.kind is not PathKind.FOLDER:
        return
    if directory := _directory(top):
        yield top, directory
        return
    for entry in walk(top, _may_hold_others):
        if entry.kind is PathKind.FOLDER and (directory := _directory(entry.path)):
            yield entry.path, directory


def _may_hold_others(folder: Entry) -> bool:
    return _directory(folder.path) is None


def _directory(folder: Path) -> PartitionDirectory | None:
    directory = partition_directory(folder.name)
    if directory is not None and (directory.topic == OFFSETS_TOPIC or is_other_topic(folder)):
        return directory
    return None


def topic_names_below(paths: Iterable[str]) -> dict[str, str]:
    """Return topic names by id, from the partition.metadata of data directories below the paths; what cannot be listed has none."""
    found: dict[str, str] = {}
    for path in paths:
        try:
            directories = find_topics([path])
        except SourceError:
            # Whoever looked for segments here has named it; names are only a help.
            continue
        found |= {directory.topic_id: directory.topic for directory in directories if directory.topic_id}
    return found
