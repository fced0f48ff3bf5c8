"""Tell the files of a lake from its sources: a lake may lie in a folder that it is made of. Knows no tables."""

from collections.abc import Iterable, Sequence

from offsets_tool.errors import SourceError
from offsets_tool.log.storage import as_path
from spark.ingest.plan import IngestFile
from spark.lake.folder import CAPTURED


def foreign_files(files: Iterable[IngestFile], lake: str, paths: Sequence[str]) -> list[IngestFile]:
    """Return the files that are no part of the lake; what a stream has captured into the lake stays if `paths` name it."""
    try:
        own = as_path(lake).resolve()
    except SourceError:
        # What only Spark can name holds no file that is read here.
        return list(files)
    if paths and all(as_path(path).resolve().is_relative_to(own / CAPTURED) for path in paths):
        return list(files)
    return [file for file in files if not as_path(file.segment.path).is_relative_to(own)]
