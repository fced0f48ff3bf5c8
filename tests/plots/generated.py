"""A group of any size, as the rows that pictures are drawn of: made from a seed, with the facts that pictures must show."""

from itertools import pairwise
from random import Random
from typing import Any, NamedTuple

from offsets_tool.findings.group_rows import GroupRow, GroupRows, LogStretch, gather
from offsets_tool.lag.rows import LagRow
from tests.findings.made import (
    GROUP,
    LOG_PARTITION,
    MINUTE,
    SECOND,
    START,
    commits,
    group,
    member,
    states,
    until,
)

HOURS = 3 * 60 * MINUTE


class Made(NamedTuple):
    """A generated group."""

    rows: GroupRows
    lag: list[LagRow]
    rewinds: int
    losses: int


def made(
    partitions: int, members: int, *, every: int = 60, steps: int = 30, topic: str = "payments", seed: int = 7
) -> Made:
    """Return a group that commits every so many seconds, so many times for each partition, with rewinds, losses, rebalances."""
    random = Random(seed)
    rows: list[GroupRow] = []
    rewinds = losses = 0
    for partition in range(partitions):
        offsets, at = [], random.randrange(1000)
        for step in range(steps):
            is_rewind = step == steps // 2 and partition % 50 == 3
            rewinds += is_rewind
            at = max(at - 400, 0) if is_rewind else at + random.randrange(1, 60)
            offsets.append(at)
        rewinds += sum(after < before for before, after in pairwise(offsets)) - (partition % 50 == 3)
        some = commits(
            1000 + partition * steps * 2,
            random.randrange(30) * SECOND,
            every * SECOND,
            *offsets,
            topic=topic,
            partition=partition,
        )
        if partition % 100 == 7:
            losses += 1
            end = {
                "to_log_offset": some[-1].from_log_offset + 1,
                "to_timestamp": some[-1].from_timestamp + SECOND,
            }
            some[-1] = some[-1]._replace(**end, end_cause="deleted")
        rows += some
    rows += _members(partitions, members, every * steps * SECOND, topic)
    gathered = gather(rows, LogStretch(LOG_PARTITION, newest_at=START + every * steps * SECOND))
    lag = [
        _lag(topic, partition, START + step * every * SECOND, random)
        for partition in range(partitions)
        for step in range(steps)
    ]
    return Made(gathered[GROUP], lag, rewinds, losses)


def _members(partitions: int, members: int, length: int, topic: str) -> list[Any]:
    """Return five generations, in which partitions turn by one among the members."""
    found: list[Any] = []
    groups = []
    for generation in range(5):
        after = generation * length // 5
        groups.append(group(100 * generation + 1, after, members, generation=generation + 1, kind="classic"))
        for number in range(members):
            held = tuple(
                f"{topic}-{each}" for each in range(partitions) if (each + generation) % members == number
            )
            row = member(
                100 * generation + 1,
                after,
                f"m-{number}",
                client_id=f"consumer-{number}",
                assignment=held,
                generation=generation + 1,
            )
            last = generation == 4
            found.append(row if last else until(row, 100 * generation + 101, after + length // 5, "changed"))
    return [*found, *states(*groups)]


def _lag(topic: str, partition: int, at: int, random: Random) -> LagRow:
    empty: dict[str, Any] = dict.fromkeys(LagRow._fields)
    lag = random.randrange(0, 50 + partition * 10)
    return LagRow(
        **{
            **empty,
            "group": GROUP,
            "topic": topic,
            "partition": partition,
            "timestamp": at,
            "lag": lag,
            "lag_min": lag,
            "method": "sampled",
        }
    )
