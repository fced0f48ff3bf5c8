"""Merge small files of a table into few, sorted for questions about a group. Rows stay as they are; commits nothing."""

from collections.abc import Collection, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Final

import pyarrow as pa

from offsets_tool.columns.sorting import places_in_order
from offsets_tool.lake.scan import FileFacts, file_rows
from offsets_tool.lake.tables import Table
from spark.lake.parquet import SORTED_GROUP_ROWS, NewFile, TableWriter
from spark.lake.replaced import Replacing

MERGED_BYTES: Final = 64 << 20
"""Bytes of files, as they are stored, whose rows are sorted together: held as a whole, they take about ten times that."""
FILE_BYTES: Final = 8 << 20
"""About how long a written file is: of several, a question about one group needs few. One of less than half is merged again."""
SMALL_FILES: Final = 8
"""More small files than these are merged in a table that jobs read as a whole: each costs some milliseconds a job."""


def few_files(root: Path, table: Table, files: Sequence[FileFacts]) -> Replacing:
    """Merge the small files of a table where there are more than SMALL_FILES of them; nothing changes where there are not."""
    small = {file["path"] for file in files if file["size_bytes"] < FILE_BYTES // 2}
    return merged(root, table, files, small) if len(small) > SMALL_FILES else Replacing([], [])


def merged(root: Path, table: Table, files: Iterable[FileFacts], names: Collection[str]) -> Replacing:
    """Write the rows of the files in `names` to new ones, those of so many files at a time as can be held."""
    wanted = sorted(
        (file for file in files if file["path"] in names), key=lambda file: file["modification_time"]
    )
    made: list[NewFile] = []
    some: list[FileFacts] = []
    for file in wanted:
        if some and sum(each["size_bytes"] for each in (*some, file)) > MERGED_BYTES:
            made += _sorted(root, table, some)
            some = []
        some.append(file)
    made += _sorted(root, table, some)
    return Replacing([file["path"] for file in wanted], made)


def _sorted(root: Path, table: Table, files: Sequence[FileFacts]) -> Iterator[NewFile]:
    """Write the rows of some files to new ones, sorted by cluster and by what questions name."""
    batches = [
        rows
        for file in files
        for rows in file_rows(root / table.name / file["path"], table, table.schema.names)
    ]
    if not batches:
        return
    rows = pa.Table.from_batches(batches).unify_dictionaries().combine_chunks()
    order = list(dict.fromkeys(("cluster", *table.order)))
    places = pa.array(places_in_order(rows, order))
    number = max(1, sum(file["size_bytes"] for file in files) // FILE_BYTES)
    of_each = -(-rows.num_rows // number)
    for first in range(0, rows.num_rows, of_each):
        with TableWriter(root, table, is_sorted=True) as writer:
            for batch in rows.take(places.slice(first, of_each)).to_batches(SORTED_GROUP_ROWS):
                writer.write(batch)
            yield from writer.close()
