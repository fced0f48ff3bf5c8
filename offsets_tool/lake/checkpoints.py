"""The lake's checkpoints, one file for each log partition: find them, read the log facts at their beginning, or all that held.

A name says which version a checkpoint is of, so that one that nobody needs is not opened. Does not know what else is in a
checkpoint (offsets_tool.checkpoint does), nor when one is written or deleted (spark.replay).
"""

from collections.abc import Collection, Mapping
from io import BytesIO
from pathlib import Path
from typing import Final

from offsets_tool.checkpoint import VERSION, read_log_facts
from offsets_tool.errors import SourceError
from offsets_tool.expiry.log_facts import LogFacts
from offsets_tool.lake.plan import LakeRow, LogPartition
from offsets_tool.log.archive.delta_mirror import whole_file
from offsets_tool.log.stored_bytes import open_binary
from offsets_tool.relations.carried import LiveState
from offsets_tool.relations.histories import restore_live

CHECKPOINTS: Final = "_checkpoints"
"""The folder of the lake that holds the checkpoints."""
OF_VERSION: Final = f"v{VERSION}-"
"""How names of checkpoints begin that this release reads; those of earlier releases say no version."""
REMEDY: Final = "run offsets-spark replay, which replays its partition from the first record"
"""What to do where a checkpoint is lost."""


def checkpoint_path(root: Path, name: str) -> Path:
    """Return the path of the checkpoint that a row of `replays` names."""
    return root / CHECKPOINTS / name


def is_of_this_version(name: str) -> bool:
    """Return whether a checkpoint is of the version that this release writes, by its name."""
    return name.startswith(OF_VERSION)


def log_facts_of(root: Path, row: LakeRow) -> LogFacts:
    """Return the log facts of a partition from its checkpoint, given its row of `replays`.

    SourceError for a checkpoint that is lost, damaged or of another release of this tool.
    """
    path = checkpoint_path(root, row["checkpoint"])
    try:
        whole = whole_file(path)
        with open_binary(path) if whole is None else BytesIO(whole) as data:
            facts = read_log_facts(data, path.as_posix())
    except OSError as error:
        raise SourceError(path.as_posix(), f"cannot be read ({error.strerror})") from error
    assert facts is not None
    return facts


def live_state_of(root: Path, row: LakeRow) -> LiveState:
    """Return what held in a partition at its end from its checkpoint, given its row of `replays`; errors as `log_facts_of`."""
    path = checkpoint_path(root, row["checkpoint"])
    try:
        whole = whole_file(path)
        if whole is None:
            with open_binary(path) as data:
                whole = data.read()
    except OSError as error:
        raise SourceError(path.as_posix(), f"cannot be read ({error.strerror})") from error
    return restore_live(whole, path.as_posix())


def absent_checkpoints(
    root: Path, replays: Mapping[LogPartition, LakeRow], there: Collection[str]
) -> dict[LogPartition, str]:
    """Return the log partitions whose checkpoints are not `there`, or are of another release, and why."""
    unknown = {
        key: row
        for key, row in replays.items()
        if row["checkpoint"] not in there or not is_of_this_version(row["checkpoint"])
    }
    lost = {}
    for log_partition, row in unknown.items():
        try:
            log_facts_of(root, row)
        except SourceError as error:
            lost[log_partition] = str(error)
    return lost
