"""Corpora, and stories told with times, replayed as the command line does it: to a moment, and once more. For tests of expiry."""

from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from offsets_tool.as_of.as_of import AsOf
from offsets_tool.as_of.snapshot import PartitionSnapshot, Snapshot, replay_events
from offsets_tool.events import Event, decode
from offsets_tool.evidence.partition_histories import EventHistories
from offsets_tool.expiry.causes import Cause, Confidence, Deletion, PolicyConfidence
from offsets_tool.expiry.forecast import PartitionRemovals
from offsets_tool.expiry.forecast import explained as why
from offsets_tool.expiry.rules import Policy
from offsets_tool.replay.changes import Change
from offsets_tool.replay.coordinator import Coordinator
from offsets_tool.replay.topic_names import TopicNames
from tests import plain_rows
from tests.expiry.corpus_truth import Truth
from tests.history.state_from_rows import events_of
from tests.replay import story
from tests.replay.story import StoryRecord
from tests.replay.story_segments import Placed, segment

HOUR, DAY = 3_600_000, 86_400_000
START = 1_700_000_000_000
Verdict = tuple[Cause, Confidence, tuple[Cause, ...]]
Logs = dict[int, list[Event]]


@cache
def truth_of(corpus: Path) -> Truth:
    return Truth(corpus)


def policy_of(truth: Truth) -> Policy:
    """Return the policy of the broker that made a corpus."""
    return Policy(truth.release, truth.retention_ms, truth.check_interval_ms)


def moment_of(logs: Logs, as_of: AsOf | None = None) -> Snapshot:
    """Return the snapshot of all partitions, replayed again where the log proves other rules."""
    moment = Snapshot(as_of or AsOf(), TopicNames())
    for log_partition, events in logs.items():
        replay_events((moment,), log_partition, events)
    for log_partition in moment.to_replay_again():
        assert log_partition is not None
        replay_events((moment,), log_partition, logs[log_partition])
    return moment


def all_removals(moment: Snapshot, logs: Logs) -> list[PartitionRemovals]:
    """Return the removals of every partition of a snapshot."""
    removals = []
    for partition in moment:
        assert partition.log_partition is not None
        replayed = _happened(partition, logs[partition.log_partition])
        removals.append(EventHistories(partition, replayed, moment.names.name).removals())
    return removals


def _happened(
    partition: PartitionSnapshot, events: list[Event]
) -> Iterator[tuple[Event, tuple[Change, ...]]]:
    found = partition.coordinator
    coordinator = Coordinator(partition.log_partition, None if found.auto else found.rules)
    for event in events:
        if partition.end <= event.record.log_offset:
            return
        yield event, coordinator.replay(event)


def explained(logs: Logs, policy: Policy, known: PolicyConfidence | None = None) -> list[Deletion]:
    """Return the explanations of all removals in some logs, under a policy."""
    moment = moment_of(logs)
    lost = all_removals(moment, logs)
    return why(lost, moment.newest_timestamp, policy, known or PolicyConfidence())


@cache
def explained_corpus(
    corpus: Path, retention_known: bool = True, release_known: bool = True
) -> tuple[Deletion, ...]:
    """Return the explanations of a corpus under the broker's own policy, or a default for what is not known."""
    truth = truth_of(corpus)
    policy = policy_of(truth) if retention_known else Policy(truth.release, 7 * 86_400_000)
    return tuple(explained(events_of(corpus.name), policy, PolicyConfidence(release_known, retention_known)))


def at(after: int, *told: StoryRecord, sequence: int = -1) -> list[tuple[int, StoryRecord, int]]:
    """Return records with the time `after` milliseconds from the start."""
    return [(START + after, each, sequence) for each in told]


def commit(group: str, topic: str = "t", partition: int = 0, after: int = 0, **more: Any) -> StoryRecord:
    return story.commit(group, topic, partition, 5, commit_timestamp=START + after, **more)


def log_of(folder: Path, *steps: list[tuple[int, StoryRecord, int]]) -> list[Event]:
    """Return the events of a partition's log made of steps; every record has a batch of its own."""
    told = [each for step in steps for each in step]
    placed = [Placed(offset, when, what, sequence) for offset, (when, what, sequence) in enumerate(told)]
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{0:020}.log"
    path.write_bytes(segment(placed))
    return [decode(record) for record in plain_rows.records([path])]


def verdicts(found: Sequence[Deletion]) -> list[Verdict]:
    return [(each.cause, each.confidence, each.alternatives) for each in found]
