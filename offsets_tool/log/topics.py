"""Finds the partition directories of every topic, with their topic ids: they name topic ids, and their logs say where ends are.

Directories are found by name and content, and not read. Knows nothing about segments of `__consumer_offsets`.
"""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final, NamedTuple

from offsets_tool.errors import SourceError
from offsets_tool.log.discover import is_other_topic
from offsets_tool.log.files.checkpoints import NOT_SAID, read_partition_metadata
from offsets_tool.log.files.folders import Entry, PathKind, is_file, look_at, walk
from offsets_tool.log.names import OFFSETS_TOPIC, PartitionDirectory, partition_directory
from offsets_tool.log.storage import as_path, one_listing

_METADATA: Final = "partition.metadata"


class TopicDirectory(NamedTuple):
    """A partition's directory of any topic; `topic_id` is None where no partition.metadata says it, or `problem` hides it."""

    path: str
    topic: str
    partition: int
    topic_id: str | None
    problem: str = ""
    """Why its partition.metadata, which is there, cannot be read."""


@one_listing()
def find_topics(paths: Iterable[str | Path]) -> list[TopicDirectory]:
    """Return the partition directories of every topic under the paths, in order; folders that cannot be listed have none.

    SourceError for a path that cannot be looked at itself.
    """
    found = []
    for path in paths:
        for folder, directory in _partition_directories(as_path(path)):
            found.append(
                TopicDirectory(folder.as_posix(), directory.topic, directory.partition, *_topic_id(folder))
            )
    return sorted(found, key=lambda directory: directory[:3])


def _topic_id(folder: Path) -> tuple[str | None, str]:
    """Return the topic id that a partition's directory has, and why its file cannot be read."""
    metadata = folder / _METADATA
    try:
        return (read_partition_metadata(metadata).topic_id if is_file(metadata) else None), ""
    except NOT_SAID:
        return None, ""
    except SourceError as error:
        return None, error.reason


def ids_of(directories: Iterable[TopicDirectory]) -> dict[str, str]:
    """Return the topics' names by their ids; SourceError for a partition.metadata that is there and cannot be read."""
    found = {}
    for directory in directories:
        if directory.problem:
            raise SourceError(f"{directory.path}/{_METADATA}", directory.problem)
        if directory.topic_id:
            found[directory.topic_id] = directory.topic
    return found


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
    """Return topic names by id, from the partition.metadata of data directories below the paths; what cannot be listed has none.

    SourceError for a partition.metadata that cannot be read.
    """
    found: dict[str, str] = {}
    for path in paths:
        try:
            directories = find_topics([path])
        except SourceError:
            # Whoever looked for segments here has named it; names are only a help.
            continue
        found |= ids_of(directories)
    return found
