"""The lake's checkpoints, a file for each log partition: where they lie, how they are kept, and what of them is read without the
rest.
"""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Final
from uuid import uuid4

from offsets_tool.checkpoint import read_log_facts
from offsets_tool.errors import SourceError
from offsets_tool.expiry.log_facts import LogFacts
from spark.replay.plan import LakeRow, LogPartition

CHECKPOINTS: Final = "_checkpoints"
"""The lake's folder of them."""
REMEDY: Final = "run offsets-spark replay, which tells its partition from the first record"
"""Where one is lost."""


def checkpoint_path(root: Path, name: str) -> Path:
    """Of a row of `replays`."""
    return root / CHECKPOINTS / name


def keep_checkpoint(root: Path, checkpoint: bytes) -> str:
    """Writes one; its name, under which it is whole or not there. OSError where it cannot be written."""
    folder = root / CHECKPOINTS
    folder.mkdir(exist_ok=True)
    name = f"{uuid4()}.json.gz"
    unfinished = folder / f"{name}.tmp"
    with unfinished.open("wb") as file:
        file.write(checkpoint)
        file.flush()
        os.fsync(file.fileno())
    unfinished.rename(folder / name)
    return name


def signs_of(root: Path, row: LakeRow) -> LogFacts:
    """What a partition's log says of its cluster. SourceError for a checkpoint that is lost, damaged or of another release."""
    path = checkpoint_path(root, row["checkpoint"])
    try:
        with path.open("rb") as data:
            signs = read_log_facts(data, path.as_posix())
    except OSError as error:
        raise SourceError(path.as_posix(), f"cannot be read ({error.strerror})") from error
    assert signs is not None
    return signs


def lost_checkpoints(root: Path, replays: Mapping[LogPartition, LakeRow]) -> dict[LogPartition, str]:
    """Those of which already the beginning does not read, and why."""
    lost = {}
    for place, row in replays.items():
        try:
            signs_of(root, row)
        except SourceError as error:
            lost[place] = str(error)
    return lost
