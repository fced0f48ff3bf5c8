"""Archives of the topic: what someone exported from it as JSON lines, Parquet or Delta, read as LogRecords.

files.py finds them, tables.py and lines.py give their rows, columns.py makes a row a record, read.py counts what becomes of each.
"""

from offsets_tool.log.archive.columns import NAMES
from offsets_tool.log.archive.files import ArchiveFile, ArchiveKind, archive_files, is_archive
from offsets_tool.log.archive.read import ArchiveRead, read_archive

__all__ = [
    "NAMES",
    "ArchiveFile",
    "ArchiveKind",
    "ArchiveRead",
    "archive_files",
    "is_archive",
    "read_archive",
]
