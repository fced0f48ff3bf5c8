"""A Spark data source that streams which folders have gained something: new segments and archives, or more bytes of known ones.

An offset is what a listing says of each folder: files, bytes, and a digest of names, sizes and times. The rows of a micro-batch
follow from its two offsets alone, so that Spark can ask for them again after a kill. Reads no records: what of the files is new,
the ledger knows.
"""

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import ReadLimit

from offsets_tool.errors import SourceError
from offsets_tool.log.files.folders import PathKind, listing, look_at
from offsets_tool.log.storage import real_path
from offsets_tool.wire.json import JsonObject
from spark.ingest.plan import IngestFile, find_files, foreign_files

SCHEMA: Final = "path string, files long, bytes long"
_WATCHED: Final = "watched"


class Watched(NamedTuple):
    """The folders to watch, and the arguments of `find_files` with which their files are found."""

    paths: Sequence[str]
    log_partition: int | None
    columns: Mapping[str, str]
    lake: str
    """The lake, whose own files are no sources."""

    @property
    def option(self) -> tuple[str, str]:
        """The option of the data source that carries all these fields: its name and its value."""
        return _WATCHED, json.dumps(self)


class FolderListing(NamedTuple):
    """What a listing says of a folder; `problem` says why there is none, where that does not pass by waiting."""

    files: int
    bytes: int
    digest: str
    problem: str = ""


def why_nothing(watched: Watched, path: str) -> str | None:
    """Return why nothing of a folder can be ingested yet; None where something can. SourceError where waiting does not help."""
    found = _found(watched, path)
    return found if isinstance(found, str) else None


def _found(watched: Watched, path: str) -> list[IngestFile] | str:
    """Return the files of a folder, or why nothing of it can be ingested yet; SourceError where waiting does not help."""
    there = look_at(path)
    if there.kind is PathKind.FOLDER:
        listing(there.path)
    try:
        return find_files([path], None, watched.log_partition, watched.columns)
    except SourceError as error:
        # What cannot be read in it, and says whose log this is, would be waited for without a word.
        if there.kind is not PathKind.FOLDER or error.path != real_path(path):
            raise
        return error.reason


def listing_of(watched: Watched, path: str) -> FolderListing | None:
    """Return what is in a folder; None where nothing of it can be ingested yet."""
    try:
        found = _found(watched, path)
    except SourceError as error:
        return FolderListing(0, 0, "", error.reason)
    if isinstance(found, str):
        return None
    files = foreign_files(found, watched.lake, [path])
    digest = hashlib.sha256()
    for file in files:
        digest.update(repr((file.identity, file.segment.size, file.modified_at)).encode())
    return FolderListing(len(files), sum(file.segment.size for file in files), digest.hexdigest())


class GrowingFolder(DataSource):
    """The data source `offsets_folder`: a row for each folder that has changed since the last micro-batch."""

    @classmethod
    def name(cls) -> str:
        return "offsets_folder"

    def schema(self) -> str:
        return SCHEMA

    def streamReader(self, schema: Any) -> "FolderReader":
        return FolderReader(Watched(*json.loads(self.options[_WATCHED])))


class FolderReader(DataSourceStreamReader):
    """Lists the folders each time that Spark asks."""

    def __init__(self, watched: Watched) -> None:
        self._watched = watched

    def initialOffset(self) -> JsonObject:
        return {}

    def latestOffset(self, start: JsonObject, limit: ReadLimit) -> JsonObject:
        # A folder that is empty for a moment has brought nothing.
        found = {path: listing_of(self._watched, path) for path in self._watched.paths}
        return start | {path: each._asdict() for path, each in found.items() if each}

    def partitions(self, start: JsonObject, end: JsonObject) -> Sequence[InputPartition]:
        return [
            InputPartition((path, each["files"], each["bytes"]))
            for path, each in end.items()
            if start.get(path) != each
        ]

    def read(self, partition: InputPartition) -> Iterator[tuple[Any, ...]]:
        yield partition.value
