"""Check a lake: all checks, in the order in which their remedies are best followed. Starts no Spark and changes nothing.

A check that meets a damaged file says so, and the others go on.
"""

from collections.abc import Iterator
from typing import Final

from offsets_tool.errors import SourceError
from offsets_tool.lake.tables import TABLES
from offsets_tool.lake.whole import is_table, no_lake
from offsets_tool.log.storage import StoredPath, as_path, one_listing, stored_in
from spark.check import files, jobs, ledger, sources_again
from spark.check.checked import Check, Checked, Defect, Looked
from spark.check.lake import LakeToCheck
from spark.lake.folder import root_of, unwritten

_CHECKS: Final = (
    Check("tables", "tables", files.tables),
    Check("files", "data files", files.sizes),
    Check("runs", "jobs", jobs.runs),
    Check("ledger", "rows of sources", ledger.sums),
    Check("ranges", "ranges of files", ledger.ranges),
    Check("records", "runs of log and events", ledger.records),
    Check("offsets", "copies of log partitions", ledger.offsets),
    Check("replays", "log partitions", jobs.partitions),
    Check("checkpoints", "checkpoints", jobs.checkpoints),
    Check("derived", "clusters of derived tables", jobs.derivations),
    Check("left over", "folders", files.unused_files),
)
_OF_ROWS: Final = Check("rows", "data files", files.rows)
_OF_SOURCES: Final = Check("sources", "ranges of sources that are there", sources_again.sources)


def check(lake: str, *, reads_rows: bool = False, reads_sources: bool = False) -> Iterator[Checked]:
    """Yield what is wrong with a lake, and a row for each check that found nothing.

    `reads_rows` reads all rows of all tables too, `reads_sources` the sources that are still there. UsageError where there is no
    lake, while a job is writing to it and at the end if one wrote meanwhile: jobs are not kept from it.
    """
    root = root_of(lake)
    if not any(is_table(root, table) for table in TABLES):
        raise no_lake(root)
    more = [*([_OF_ROWS] if reads_rows else []), *([_OF_SOURCES] if reads_sources else [])]
    with unwritten(root), one_listing():
        if isinstance(root, StoredPath):
            # Of all files, their sizes are known from then on.
            stored_in(root)
        looked_at = LakeToCheck(root)
        for each in (*_CHECKS, *more):
            yield from _checked(each, looked_at)


def _checked(each: Check, lake: LakeToCheck) -> Iterator[Checked]:
    sound, is_ok = 0, True
    for found in _looked(each, lake):
        if found is None:
            sound += 1
            continue
        is_ok = False
        yield Checked(each.what, found.where, False, None, found.severity, found.problem, found.remedy)
    if is_ok:
        yield Checked(each.what, each.where, True, sound, None, None, None)


def _looked(each: Check, lake: LakeToCheck) -> Looked:
    try:
        yield from each.look(lake)
    except SourceError as error:
        broken: Defect = files.broken(lake, as_path(error.path), error.reason)
        yield broken._replace(problem=f"{broken.problem}; nothing more is known of {each.where}")
