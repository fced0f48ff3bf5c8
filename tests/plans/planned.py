"""The plan of a log on disk, as the library makes it, and what a log is once the plan was run."""

from pathlib import Path
from random import Random

from offsets_tool.as_of.as_of import AsOf
from offsets_tool.as_of.selection import Wanted
from offsets_tool.as_of.views_offsets import offset_rows
from offsets_tool.evidence.answers.planning import Plan, plan_back
from offsets_tool.evidence.ends import EndSources
from offsets_tool.evidence.evidence import open_evidence
from offsets_tool.evidence.expiring import PolicyOverrides
from offsets_tool.evidence.replaying import END, EvidenceReplay, snapshot_of
from offsets_tool.plans.reset_file import ResetLine
from offsets_tool.records import offsets
from tests.replay import random_logs
from tests.replay.appended_records import write
from tests.replay.random_logs import Placed, RandomLog, Reader

NUMBER = 0
"""The log partition of random logs."""


def planned(folder: Path, as_of: AsOf) -> Plan:
    """Return the plan for all groups of the evidence in a folder."""
    with EvidenceReplay(open_evidence(folder), as_of) as replay, EvidenceReplay(open_evidence(folder)) as end:
        return plan_back(replay, end, EndSources(), PolicyOverrides(), Wanted())


def standing(folder: Path, as_of: AsOf = END) -> dict[tuple[str, str, int], int]:
    """Return the committed offsets at a moment."""
    rows = offset_rows(snapshot_of(folder, as_of=as_of))
    return {
        (row["group"], row["topic"], row["partition"]): row["committed_offset"]
        for row in rows
        if row["committed_offset"] is not None
    }


def written(folder: Path, placed: list[Placed]) -> Path:
    """Write a log as the only segment of its partition into a folder, and return the folder."""
    log = folder / f"__consumer_offsets-{NUMBER}" / f"{0:020}.log"
    log.parent.mkdir(parents=True, exist_ok=True)
    log.write_bytes(random_logs.segment(placed))
    return folder


def with_commits(placed: list[Placed], lines: list[ResetLine]) -> list[Placed]:
    """Return the log followed by what a coordinator writes when Kafka's tool sets these offsets."""
    first = random_logs.ends(placed)[-1]
    records = []
    for at, line in enumerate(lines, first):
        value = offsets.OffsetCommitValue(
            offset=line.offset, metadata="", leader_epoch=-1, commit_timestamp=1_800_000_000_000
        )
        made = write(1, value, 3, group=line.group, topic=line.topic, partition=line.partition)
        records.append((at, *made.encoded()))
    return [*placed, Placed(first, random_logs.NO_PRODUCER, 0, tuple(records))] if records else placed


def random_moment(seed: int, reader: Reader) -> tuple[list[Placed], AsOf]:
    """Return a random log, and the end of one of its batches as a moment."""
    placed = RandomLog(seed, reader).grow(120).placed
    end = Random(seed).choice(random_logs.batch_ends(placed))
    return placed, AsOf(ends={NUMBER: end})
