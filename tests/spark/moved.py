"""Logs with groups that lie in several partitions of the topic, as it was given more: what tells where they live, or does not."""

from collections.abc import Iterator
from pathlib import Path
from random import Random

from offsets_tool.placement import partition_for
from tests.depth import DEEP
from tests.replay.story import StoryRecord, commit
from tests.replay.story_segments import in_order, write_log

Logs = dict[int, list[StoryRecord]]
_UNREAD = commit("g", "t", 0, 6)._replace(value=b"\0\x63")


def moved_logs() -> Iterator[tuple[str, Logs]]:
    """Yield the records of a cluster's log partitions, each with what tells where its groups live."""
    old, new = (
        commit("g", "t", 0, offset, commit_timestamp=at) for offset, at in ((100, 1_000), (900, 2_000))
    )
    yield "moved-newest-commit", {3: [old], 4: [new]}
    yield "moved-nothing-tells", {3: [old], 4: [commit("g", "t", 0, 900, commit_timestamp=1_000)]}
    yield "moved-unread", {3: [old, _UNREAD], 4: [new]}
    yield "moved-unread-alone", {3: [old, commit("g", "t", 9, 6)._replace(value=b"\0\x63")], 4: [new]}
    yield "moved-read-again", {3: [_UNREAD, old], 4: [new]}
    yield "moved-other-keys", {3: [old, commit("g", "t", 1, 5, commit_timestamp=1_000)], 4: [new]}
    for seed in range(20 if DEEP else 2):
        yield f"moved-at-random-{seed}", _at_random(Random(seed))


def _at_random(random: Random) -> Logs:
    """Return the records of groups of which some were there before the topic was given more partitions."""
    before, after = random.sample(range(4, 60), 2)
    logs: Logs = {}
    for number in range(40):
        for count in random.choice([(after,), (after,), (before, after)]):
            record = commit(
                f"g{number}", "t", 0, random.randrange(1_000), commit_timestamp=random.randrange(9_000)
            )
            logs.setdefault(partition_for(f"g{number}", count), []).append(record)
    return logs


def write_moved(folder: Path, logs: Logs) -> Path:
    """Write the log partitions of a cluster into a folder, and return it."""
    for number, records in logs.items():
        write_log(folder, in_order(*records), partition=number)
    return folder
