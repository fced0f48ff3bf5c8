"""Whether a folder is a lake of this layout, and whole: no table or commit of it is lost; and which of its clusters is meant.

Locks nothing, and reads no rows.
"""

from collections.abc import Iterable, Sequence
from pathlib import Path

from offsets_tool.errors import SourceError, UsageError
from offsets_tool.lake.layout import added_since, layout_error
from offsets_tool.lake.tables import ALL_TABLES, SOURCES, TABLES, Table
from offsets_tool.log.archive.delta import OpenDelta, open_delta
from offsets_tool.log.archive.delta_log import lost_commit
from offsets_tool.log.archive.delta_mirror import has_commit


def is_table(root: Path, table: Table) -> bool:
    """Return whether the lake has the table: who is killed while it makes one leaves a log without a commit."""
    return has_commit(root / table.name)


def no_lake(lake: str | Path, missing: Table = SOURCES) -> UsageError:
    """Return the error for a folder without a table that every lake has."""
    return UsageError(
        f"{lake} is no lake (it has no table {missing.name}): name the folder that an ingest made"
    )


def chosen_cluster(cluster: str | None, names: Sequence[str]) -> str:
    """Return the cluster that is asked for; UsageError for one that a lake does not have, and where it has several for None."""
    if cluster is not None and cluster not in names:
        raise unknown_cluster(cluster, names)
    if cluster is None and len(names) > 1:
        choices = ", ".join(map(_cluster_text, names))
        raise UsageError(f"the lake has several clusters: name one with --cluster, among {choices}")
    if not names:
        raise UsageError("the lake has no cluster yet: run offsets-spark run first")
    return names[0] if cluster is None else cluster


def unknown_cluster(name: str, names: Iterable[str]) -> UsageError:
    """Return the error for a cluster that a lake with clusters of these names does not have."""
    clusters = sorted(names)
    if not clusters:
        return UsageError(
            f"the lake has no cluster {name!r}, as it has none yet: run offsets-spark run first"
        )
    if not any(clusters):
        return UsageError(f"the lake has no cluster {name!r}: its only one has no name; drop --cluster")
    return UsageError(
        f"the lake has no cluster {name!r}: choose among {', '.join(map(_cluster_text, clusters))}"
    )


def _cluster_text(cluster: str) -> str:
    return cluster or "'' (without a name)"


def check_whole(root: Path) -> None:
    """Raise SourceError where a table with rows, or a commit of one, is lost: a job that went on would forget those rows.

    An ingest that was killed while it made the first tables has left no rows yet.
    """
    missing = [table.name for table in TABLES if not is_table(root, table)]
    if missing and any(_has_rows(root, table) for table in TABLES):
        raise SourceError(
            (root / missing[0]).as_posix(), "is no table any more, though the lake's other tables are there"
        )
    for table in ALL_TABLES:
        if found := lost_commit(root / table.name, is_opened=False):
            raise SourceError(found.path.as_posix(), found.reason)


def _has_its_columns(root: Path, table: Table) -> bool:
    """Return whether a table of the lake has the columns that this version declares, or could have them."""
    return added_since(_columns(open_delta(root / table.name)), table) is not None


def layout_error_of(root: Path, table: Table) -> UsageError | None:
    """Return the error for a table of the lake that does not have the columns that this version declares; None if it has."""
    return layout_error(f"{root}/{table.name}", _columns(open_delta(root / table.name)), table)


def open_table(root: Path, table: Table) -> "OpenDelta | None":
    """Open a table of the lake; None if it does not exist, UsageError for other columns than this version declares."""
    path = root / table.name
    if not is_table(root, table):
        return None
    opened = open_delta(path)
    if refused := layout_error(path.as_posix(), _columns(opened), table):
        raise refused
    return opened


def _columns(opened: OpenDelta) -> list[str]:
    return [field.name for field in opened.schema().fields]


def _has_rows(root: Path, table: Table) -> bool:
    """Return whether an ingest has written to a table; one of its name with other columns is not part of a lake."""
    has_files = is_table(root, table) and next((root / table.name).glob("*.parquet"), None) is not None
    return has_files and _has_its_columns(root, table)
