"""What every row of a file has, whichever lane read it."""

from typing import NamedTuple


class Origin(NamedTuple):
    """The columns that all rows of a file share: `source` is the file's name in tables, `run` the ingest that reads it."""

    cluster: str
    source: str
    log_partition: int | None
    run: int
