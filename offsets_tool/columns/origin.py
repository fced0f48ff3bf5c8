"""What every row of a file has, whichever lane read it."""

from typing import NamedTuple


class Origin(NamedTuple):
    """`source` is the table's name for the file; `run` the ingest that reads it."""

    cluster: str
    source: str
    log_partition: int | None
    run: int
