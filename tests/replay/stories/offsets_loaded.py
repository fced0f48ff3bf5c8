"""Offsets as they are loaded: Kafka's GroupMetadataManagerTest in Scala (to 4.0), testLoad* and testGroupLoadWith*."""

from offsets_tool.replay.rules import Rules
from tests.replay.story import (
    ASKED,
    At,
    Open,
    Story,
    StoryRecord,
    abort_marker,
    believed,
    commit,
    commit_marker,
    group_metadata,
    tombstone,
    txn_commit,
)

FOO0, FOO1, BAR0 = ("foo", "foo", 0), ("foo", "foo", 1), ("foo", "bar", 0)
SIMPLE = {"foo": "simple Empty"}

COMMITTED = (commit(*FOO0, 23), commit(*FOO1, 455), commit(*BAR0, 8992))


def pending(producer_id: int, *offsets: int) -> tuple[StoryRecord, ...]:
    """Return a batch of a producer's commits for partitions 0, 1, ... of topic foo."""
    return tuple(txn_commit(producer_id, "foo", "foo", at, offset) for at, offset in enumerate(offsets))


STORIES = (
    Story(
        name="GroupMetadataManagerTest.testLoadOffsetsWithoutGroup",
        events=(COMMITTED,),
        new=believed(offsets={FOO0: At(23, 0), FOO1: At(455, 1), BAR0: At(8992, 2)}, groups=SIMPLE),
    ),
    Story(
        name="GroupMetadataManagerTest.testLoadEmptyGroupWithOffsets",
        events=((*COMMITTED, group_metadata("foo", 15)),),
        new=believed(
            offsets={FOO0: At(23, 0), FOO1: At(455, 1), BAR0: At(8992, 2)},
            groups={"foo": "classic Empty 15 consumer/-"},
        ),
    ),
    Story(
        name="GroupMetadataManagerTest.testLoadTransactionalOffsetsWithoutGroup",
        events=(pending(1000, 23, 455, 8992), commit_marker(1000)),
        new=believed(
            offsets={FOO0: At(23, 0), FOO1: At(455, 1), ("foo", "foo", 2): At(8992, 2)}, groups=SIMPLE
        ),
    ),
    # The classic loader has no group then; the living coordinator has it still, and so have we.
    Story(
        name="GroupMetadataManagerTest.testDoNotLoadAbortedTransactionalOffsetCommits",
        events=(pending(1000, 23, 455, 8992), abort_marker(1000)),
        new=believed(groups=SIMPLE),
        asked={Rules.NEW: ASKED[Rules.NEW]},
    ),
    Story(
        name="GroupMetadataManagerTest.testGroupLoadedWithPendingCommits",
        events=(pending(1000, 23, 455),),
        new=believed(
            pending={(1000, *FOO0): At(23, 0), (1000, *FOO1): At(455, 1)},
            transactions={1000: Open(0, 1, ("foo",), 2)},
            groups=SIMPLE,
        ),
    ),
    Story(
        name="GroupMetadataManagerTest.testLoadWithCommittedAndAbortedTransactionalOffsetCommits",
        events=(
            txn_commit(1000, "foo", "foo", 2, 231),
            abort_marker(1000),
            pending(1000, 23, 455),
            commit_marker(1000),
        ),
        new=believed(offsets={FOO0: At(23, 2), FOO1: At(455, 3)}, groups=SIMPLE),
    ),
    Story(
        name="GroupMetadataManagerTest.testLoadWithCommittedAndAbortedAndPendingTransactionalOffsetCommits",
        events=(
            pending(1000, 23, 455),
            commit_marker(1000),
            txn_commit(1000, "foo", "foo", 3, 4551),
            abort_marker(1000),
            txn_commit(1000, "foo", "foo", 3, 2312),
        ),
        new=believed(
            offsets={FOO0: At(23, 0), FOO1: At(455, 1)},
            pending={(1000, "foo", "foo", 3): At(2312, 5)},
            transactions={1000: Open(5, 5, ("foo",), 1)},
            groups=SIMPLE,
        ),
    ),
    Story(
        name="GroupMetadataManagerTest.testLoadTransactionalOffsetCommitsFromMultipleProducers",
        events=(
            pending(1000, 23, 455),
            commit_marker(1000),
            txn_commit(1001, "foo", "foo", 2, 231),
            commit_marker(1001),
        ),
        new=believed(
            offsets={FOO0: At(23, 0), FOO1: At(455, 1), ("foo", "foo", 2): At(231, 3)}, groups=SIMPLE
        ),
    ),
    Story(
        name="GroupMetadataManagerTest.testGroupLoadWithConsumerAndTransactionalOffsetCommitsConsumerWins",
        events=(pending(1000, 23), commit(*FOO0, 24), commit_marker(1000)),
        new=believed(offsets={FOO0: At(24, 1)}, groups=SIMPLE),
    ),
    Story(
        name="GroupMetadataManagerTest.testGroupLoadWithConsumerAndTransactionalOffsetCommitsTransactionWins",
        events=(commit(*FOO0, 24), pending(1000, 23), commit_marker(1000)),
        new=believed(offsets={FOO0: At(23, 1)}, groups=SIMPLE),
    ),
    Story(
        name="GroupMetadataManagerTest.testLoadOffsetsWithTombstones",
        events=((*COMMITTED, tombstone(*FOO1)),),
        new=believed(offsets={FOO0: At(23, 0), BAR0: At(8992, 2)}, groups=SIMPLE),
    ),
    Story(
        name="GroupMetadataManagerTest.testLoadOffsetsWithEmptyControlBatch",
        events=((), (*COMMITTED, group_metadata("foo", 15))),
        new=believed(
            offsets={FOO0: At(23, 1), FOO1: At(455, 2), BAR0: At(8992, 3)},
            groups={"foo": "classic Empty 15 consumer/-"},
        ),
    ),
    Story(
        name="GroupMetadataManagerTest.testLoadOffsetFromOldCommit",
        events=((commit(*FOO0, 23, expire_timestamp=100), group_metadata("foo", 935, version=1)),),
        new=believed(
            offsets={FOO0: At(23, 0, expire_timestamp=100)}, groups={"foo": "classic Empty 935 consumer/-"}
        ),
    ),
    Story(
        name="GroupMetadataManagerTest.testLoadOffsetWithExplicitRetention",
        events=((commit(*FOO0, 23, expire_timestamp=100), group_metadata("foo", 935)),),
        new=believed(
            offsets={FOO0: At(23, 0, expire_timestamp=100)}, groups={"foo": "classic Empty 935 consumer/-"}
        ),
    ),
)
