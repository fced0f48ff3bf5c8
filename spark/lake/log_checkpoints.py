"""Keeps the logs of tables short: a checkpoint every so many versions, from which whoever opens the table reads on."""

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from deltalake import PostCommitHookProperties
from deltalake.exceptions import DeltaError

from offsets_tool.errors import SetupError, SourceError
from offsets_tool.log.archive.delta import OpenDelta
from offsets_tool.log.archive.delta_mirror import committing, within_reach
from offsets_tool.log.storage import is_stored

VERSIONS_BETWEEN: Final = 10
"""After how many versions a table's log gets a checkpoint, from which jobs open it: Spark's default, where deltalake has 100."""
_BETWEEN_CLEANINGS: Final = 100
"""After how many versions a log in storage is rid of commits that are older than it keeps them."""
NOTHING_AFTER: Final = PostCommitHookProperties(create_checkpoint=False, cleanup_expired_logs=False)
"""Has deltalake neither write a checkpoint after a commit nor list the log for old commits: both are done here, less often."""


@contextmanager
def tidying() -> Iterator[None]:
    """Inside of a `with` block, do what the next run can do as well: what storage or the disk refuse is left to it.

    So is a file that does not read; who needs it says so. What was committed before counts, and nobody is told that it does not.
    """
    with suppress(DeltaError, OSError, SetupError, SourceError):
        yield


def checkpoint_log(there: OpenDelta, table: Path) -> bool:
    """Write a checkpoint of a table, open at the version of the commit just made, if one is due; return whether."""
    if there.version() % VERSIONS_BETWEEN:
        return False
    with committing(table):
        there.create_checkpoint()
    if is_stored(table) and there.version() % _BETWEEN_CLEANINGS == 0:
        clean_log(there, table)
    return True


def clean_log(there: OpenDelta, table: Path) -> None:
    """Remove from a table's log what its checkpoint stands for and is older than the table's properties keep it."""
    with within_reach(table, with_history=True), committing(table):
        there.cleanup_metadata()
