"""Copies joined by rows are copies joined event by event: of histories that fork, cleaned, in any order, with rows cut anywhere."""

from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random

import pytest

from offsets_tool.as_of.as_of import AsOf
from offsets_tool.columns.reading import RowReader, RowsRead
from offsets_tool.events import Event
from offsets_tool.evidence.evidence import open_evidence
from offsets_tool.evidence.joined_log import JoinedLog
from offsets_tool.evidence.moments.copies_asked import CopiesAsked
from offsets_tool.evidence.partition_logs import partition_logs, uncounted
from offsets_tool.evidence.sources import Source
from offsets_tool.log.copies.views import CopiesView
from offsets_tool.relations.histories import replay_batches
from offsets_tool.relations.replays import Start
from offsets_tool.relations.row_events import RowEvents
from tests.depth import DEEP
from tests.evidence.copies import copy
from tests.expiry.log_cleaner import cleaned
from tests.relations.test_histories import expected_of, sorted_rows
from tests.replay.random_logs import READERS, RandomLog, segment


def random_copies(folder: Path, random: Random) -> list[Path]:
    """Write copies of one log that may have forked: in a new leader epoch, or in the same one, as when a snapshot was restored."""
    trunk = RandomLog(random.randrange(1 << 30), READERS[random.choice(("2.8.2", "3.9.2", "4.3.1"))]).grow(25)
    end = trunk.placed[-1].records[-1][0] + 1
    branches = [
        (
            trunk.branch(number).grow(20).placed,
            1_000 + random.choice((0, 70_000)) * number,
            random.randint(0, number),
        )
        for number in range(random.choice((1, 1, 2, 3)))
    ]
    copies = []
    for number in range(random.randint(2, 4)):
        log, time, epoch = random.choice(branches)
        log = log[: random.randint(len(log) // 3, len(log))]
        is_cleaned = random.random() < 0.6
        kept = cleaned(log, random) if is_cleaned else log
        shared = [batch for batch in kept if batch.base_offset < end]
        data = segment(shared) + segment(kept[len(shared) :], time, epoch)
        cleaned_to = random.choice((None, log[-1].base_offset)) if is_cleaned else None
        copies.append(copy(folder / f"copy-{number}", data, cleaned_to=cleaned_to))
    random.shuffle(copies)
    return copies


def cut_reads(reads: Iterator[RowsRead], size: int) -> Iterator[RowsRead]:
    """Yield what was read in pieces of so many rows."""
    for read in reads:
        if read.log is not None and read.events is not None:
            for begin in range(0, read.log.num_rows, size):
                log, events = (rows.slice(begin, size) for rows in (read.log, read.events))
                yield RowsRead(read.start, read.end, log, events)


def shown(events: Iterator[Event]) -> list[tuple[object, ...]]:
    """Return what replay looks at of events."""
    return [
        (
            event.record.log_offset,
            event.record.timestamp,
            event.key,
            event.value and (event.value.version, event.value.data),
            event.control,
            event.is_absence,
            event.record.producer_id,
            event.problem,
        )
        for event in events
    ]


@pytest.mark.parametrize("fast", [True, False], ids=["lane", "reference reader"])
@pytest.mark.parametrize("view", CopiesView)
@pytest.mark.parametrize("seed", range(300) if DEEP else range(8))
def test_rows_of_copies_are_their_events(tmp_path: Path, seed: int, view: CopiesView, fast: bool) -> None:
    random = Random(seed)
    evidence = open_evidence(*random_copies(tmp_path, random))
    [copies] = partition_logs(evidence.sources, uncounted).values()
    as_of = random.choice((AsOf(), AsOf(), AsOf(ends={3: random.randrange(60)}), AsOf(time=1_500)))
    by_events = JoinedLog(copies, as_of, CopiesAsked(view))
    events = list(by_events.events())
    reader = RowReader(fast=fast)
    for size in (1, 2, 7, 1_000):

        def lane(source: Source, size: int = size) -> Iterator[RowsRead]:
            return cut_reads(evidence.rows(source, reader, is_counted=False), size)

        by_rows = JoinedLog(copies, as_of, CopiesAsked(view), lane=lane)
        pages = list(by_rows.rows(lane))
        read: Callable[..., Iterator[Event]] = RowEvents().events
        assert shown(event for page in pages for event in read(page)) == shown(iter(events))
        assert vars(by_rows.forks) == vars(by_events.forks)
        assert by_rows.left_out == by_events.left_out and by_rows.contradiction == by_events.contradiction
        assert sorted_rows(list(replay_batches(Start(3), pages))) == expected_of(events, None, 3)
