"""One evidence replayed to two moments: its log is read and decoded once for both, where it is the same log for both.

Each moment is what a replay of its own gives: rules, notes and what the log proves. as_of.differences compares them.
"""

from functools import partial

from offsets_tool.as_of.snapshot import Snapshot
from offsets_tool.evidence.listener import CommandStep, during
from offsets_tool.evidence.partition_logs import RowsOf, uncounted
from offsets_tool.evidence.replaying import EvidenceReplay, Log, replay_log


def replay_both(before: EvidenceReplay, after: EvidenceReplay) -> tuple[Snapshot, Snapshot]:
    """Run two replays of one evidence to two moments, note what to know about each moment, and return both snapshots.

    Where copies are joined the log itself depends on the moment, and is read
    for each. Errors are those of `EvidenceReplay.run`.
    """
    with during(CommandStep.REPLAY):
        if before.joins or after.joins:
            _replay_each(before, after)
        else:
            _replay_together(before, after)
    return before.noted(), after.noted()


def _replay_together(before: EvidenceReplay, after: EvidenceReplay) -> None:
    by_rows = before.lane()
    for log in before.logs(before.evidence.counted).values():
        replay_log((before.snapshot, after.snapshot), log, by_rows=by_rows)
        before.note_overlaps(log)
    for each in (before, after):
        each.replay_again(partial(_replay, each))


def _replay_each(before: EvidenceReplay, after: EvidenceReplay) -> None:
    for each, events_of in ((before, before.evidence.counted), (after, uncounted)):
        for log in each.logs(events_of).values():
            replay_log((each.snapshot,), log)
            each.note_overlaps(log)
        each.replay_again(partial(_replay, each))


def _replay(replay: EvidenceReplay, log: Log, lane: RowsOf | None) -> None:
    replay_log((replay.snapshot,), log, by_rows=lane)
