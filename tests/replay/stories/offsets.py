"""Committed offsets, transactions and markers: Kafka's OffsetMetadataManagerTest and GroupCoordinatorShardTest."""

from uuid import UUID

from tests.replay.story import (
    At,
    Open,
    Story,
    abort_marker,
    believed,
    commit,
    commit_marker,
    tombstone,
    txn_commit,
)

BAR0 = ("foo", "bar", 0)
SIMPLE = {"foo": "simple Empty"}
TOPIC_ID = UUID(int=9)


STORIES = (
    Story(
        name="OffsetMetadataManagerTest.testReplay",
        events=(
            commit("foo", "bar", 0, 100, metadata="small"),
            commit("foo", "bar", 0, 200, leader_epoch=10, metadata="small"),
            commit("foo", "bar", 1, 200, leader_epoch=10, metadata="small"),
            commit("foo", "bar", 1, 300, metadata="small", expire_timestamp=12345),
        ),
        new=believed(
            offsets={BAR0: At(200, 1, 10, "small"), ("foo", "bar", 1): At(300, 3, -1, "small", 12345)},
            groups=SIMPLE,
        ),
    ),
    Story(
        name="OffsetMetadataManagerTest.testReplay[topicId]",
        events=(commit("foo", "bar", 0, 100, leader_epoch=10, metadata="small", topic_id=TOPIC_ID),),
        new=believed(offsets={BAR0: At(100, 0, 10, "small", topic_id=TOPIC_ID)}, groups=SIMPLE),
    ),
    Story(
        name="OffsetMetadataManagerTest.testTransactionalReplay",
        events=(
            txn_commit(5, "foo", "bar", 0, 100),
            txn_commit(5, "foo", "bar", 1, 101),
            txn_commit(5, "bar", "zar", 0, 100),
            txn_commit(5, "bar", "zar", 1, 101),
            txn_commit(6, "foo", "bar", 2, 102),
            txn_commit(6, "foo", "bar", 3, 102),
        ),
        new=believed(
            pending={
                (5, "foo", "bar", 0): At(100, 0),
                (5, "foo", "bar", 1): At(101, 1),
                (5, "bar", "zar", 0): At(100, 2),
                (5, "bar", "zar", 1): At(101, 3),
                (6, "foo", "bar", 2): At(102, 4),
                (6, "foo", "bar", 3): At(102, 5),
            },
            transactions={5: Open(0, 3, ("foo", "bar"), 4), 6: Open(4, 5, ("foo",), 2)},
            groups={"foo": "simple Empty", "bar": "simple Empty"},
        ),
    ),
    Story(
        name="OffsetMetadataManagerTest.testReplayWithTombstoneAndPendingTransactionalOffsets",
        events=(
            commit("foo", "bar", 0, 100),
            txn_commit(10, "foo", "bar", 0, 100),
            txn_commit(10, "foo", "bar", 1, 100),
            tombstone("foo", "bar", 0),
            tombstone("foo", "bar", 1),
        ),
        new=believed(transactions={10: Open(1, 2, ("foo",), 2)}, groups=SIMPLE),
        classic=believed(
            pending={
                (10, "foo", "bar", 0): At(100, 1, deleted_at=3),
                (10, "foo", "bar", 1): At(100, 2, deleted_at=4),
            },
            transactions={10: Open(1, 2, ("foo",), 2)},
            groups=SIMPLE,
        ),
    ),
    Story(
        name="OffsetMetadataManagerTest.testReplayTransactionEndMarkerWithCommit",
        events=(
            commit("foo", "bar", 0, 99),
            txn_commit(5, "foo", "bar", 0, 100),
            txn_commit(6, "foo", "bar", 1, 200),
            commit_marker(1),
            commit_marker(5),
            abort_marker(6),
        ),
        new=believed(offsets={BAR0: At(100, 1)}, groups=SIMPLE),
    ),
    Story(
        name="OffsetMetadataManagerTest.testReplayTransactionEndMarkerKeepsTheMostRecentCommittedOffset",
        events=(txn_commit(5, "foo", "bar", 0, 100), commit("foo", "bar", 0, 101), commit_marker(5)),
        new=believed(offsets={BAR0: At(101, 1)}, groups=SIMPLE),
    ),
    Story(
        name="OffsetMetadataManagerTest.testOffsetCommitsNumberMetricWithTransactionalOffsets",
        events=(
            txn_commit(4, "foo", "bar", 0, 100),
            txn_commit(5, "foo", "bar", 0, 101),
            txn_commit(6, "foo", "bar", 1, 200),
            commit_marker(4),
            commit_marker(5),
            commit_marker(6),
        ),
        new=believed(offsets={BAR0: At(101, 1), ("foo", "bar", 1): At(200, 2)}, groups=SIMPLE),
    ),
    Story(
        name="GroupCoordinatorShardTest.testReplayOffsetCommit",
        events=(commit("goo", "foo", 0, 1), commit("goo", "foo", 1, 2, legacy=True, version=0)),
        new=believed(
            offsets={("goo", "foo", 0): At(1, 0), ("goo", "foo", 1): At(2, 1)}, groups={"goo": "simple Empty"}
        ),
    ),
    Story(
        name="GroupCoordinatorShardTest.testReplayTransactionalOffsetCommit",
        events=(
            txn_commit(100, "goo", "foo", 0, 1),
            txn_commit(101, "goo", "foo", 1, 2, legacy=True, version=0),
        ),
        new=believed(
            pending={(100, "goo", "foo", 0): At(1, 0), (101, "goo", "foo", 1): At(2, 1)},
            transactions={100: Open(0, 0, ("goo",), 1), 101: Open(1, 1, ("goo",), 1)},
            groups={"goo": "simple Empty"},
        ),
    ),
    Story(
        name="GroupCoordinatorShardTest.testReplayOffsetCommitWithNullValue",
        events=(tombstone("goo", "foo", 0),),
        new=believed(),
    ),
    Story(
        name="GroupCoordinatorShardTest.testReplayEndTransactionMarker[COMMIT]",
        events=(commit_marker(100),),
        new=believed(),
    ),
    Story(
        name="GroupCoordinatorShardTest.testReplayEndTransactionMarker[ABORT]",
        events=(abort_marker(100),),
        new=believed(),
    ),
)
