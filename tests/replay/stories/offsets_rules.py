"""Offsets where the two coordinators part ways, keys of both types, and what cannot be read."""

from offsets_tool.replay.changes import LogOf, OffsetOf
from tests.replay.story import (
    LOG_PARTITION,
    ONLY_NEW,
    Anomaly,
    At,
    Open,
    Story,
    StoryRecord,
    believed,
    commit,
    commit_marker,
    group_metadata,
    group_tombstone,
    marker,
    tombstone,
    txn_commit,
    txn_tombstone,
)

FOO0, FOO1, BAR0 = ("foo", "foo", 0), ("foo", "foo", 1), ("foo", "bar", 0)
SIMPLE = {"foo": "simple Empty"}


STORIES = (
    Story(
        name="a key of type 0 and one of type 1 are one partition: the later record counts",
        events=(commit(*FOO0, 1), commit(*FOO0, 2, legacy=True, version=0)),
        new=believed(offsets={FOO0: At(2, 1)}, groups=SIMPLE),
    ),
    Story(
        name="a tombstone of type 1 takes what type 0 set",
        events=(
            commit(*FOO0, 1, legacy=True, version=0),
            commit(*FOO1, 2, legacy=True, version=0),
            tombstone(*FOO0),
        ),
        new=believed(offsets={FOO1: At(2, 1)}, groups=SIMPLE),
    ),
    Story(
        name="a simple group's last offset is deleted",
        events=(commit(*FOO0, 1), tombstone(*FOO0)),
        new=believed(groups=SIMPLE),
        classic=believed(),
    ),
    Story(
        name="a simple group is deleted as the new coordinator does it, with its own tombstone",
        events=(commit(*FOO0, 1), (tombstone(*FOO0), group_tombstone("foo"))),
        new=believed(),
    ),
    Story(
        name="a simple group's tombstone while it has offsets: orphans, or nothing at all",
        events=(commit(*FOO0, 1), group_tombstone("foo")),
        new=believed(offsets={FOO0: At(1, 0)}),
        classic=believed(offsets={FOO0: At(1, 0)}, groups=SIMPLE),
    ),
    Story(
        name="orphans belong to a group again with the next commit",
        events=(commit(*FOO0, 1), group_tombstone("foo"), commit(*FOO1, 2)),
        new=believed(offsets={FOO0: At(1, 0), FOO1: At(2, 2)}, groups=SIMPLE),
    ),
    Story(
        name="deleted while pending, then committed",
        events=(txn_commit(5, *FOO0, 10), tombstone(*FOO0), commit_marker(5)),
        new=believed(groups=SIMPLE),
        classic=believed(
            offsets={FOO0: At(10, 0)},
            groups=SIMPLE,
            anomalies=(Anomaly(2, OffsetOf(*FOO0), "deleted while its transaction was open"),),
        ),
    ),
    Story(
        name="a tombstone in a transaction: the classic coordinator drops that producer's pending commit alone",
        events=(
            commit(*FOO0, 1),
            txn_commit(5, *FOO0, 10),
            txn_commit(6, *FOO0, 20),
            txn_tombstone(5, *FOO0),
        ),
        new=believed(transactions={5: Open(1, 3, ("foo",), 2), 6: Open(2, 2, ("foo",), 1)}, groups=SIMPLE),
        classic=believed(
            offsets={FOO0: At(1, 0)},
            pending={(6, *FOO0): At(20, 2)},
            transactions={5: Open(1, 3, ("foo",), 2), 6: Open(2, 2, ("foo",), 1)},
            groups=SIMPLE,
        ),
    ),
    Story(
        name="a producer commits the same partition twice in one transaction",
        events=((txn_commit(5, *FOO0, 10), txn_commit(5, *FOO0, 11)), commit_marker(5), commit_marker(5)),
        new=believed(offsets={FOO0: At(11, 1)}, groups=SIMPLE),
    ),
    Story(
        name="a pending commit whose group is deleted before its marker",
        events=(group_metadata("foo", 3), txn_commit(5, *FOO0, 10), group_tombstone("foo"), commit_marker(5)),
        new=believed(offsets={FOO0: At(10, 1)}),
        classic=believed(offsets={FOO0: At(10, 1)}, groups=SIMPLE),
    ),
    Story(
        name="a producer id without the transactional bit",
        events=(commit(*FOO0, 10, producer_id=5),),
        new=believed(
            pending={(5, *FOO0): At(10, 0)},
            groups=SIMPLE,
            anomalies=(Anomaly(0, OffsetOf(*FOO0), "outside a transaction"),),
        ),
        classic=believed(
            offsets={FOO0: At(10, 0)},
            groups=SIMPLE,
            anomalies=(Anomaly(0, OffsetOf(*FOO0), "outside a transaction"),),
        ),
    ),
    Story(
        name="control records of other types, as brokers write them, end nothing",
        events=(txn_commit(5, *FOO0, 10), marker(2), marker(5), marker(9)),
        new=believed(
            pending={(5, *FOO0): At(10, 0)}, transactions={5: Open(0, 0, ("foo",), 1)}, groups=SIMPLE
        ),
    ),
    # No broker writes it; the classic loader would forget what is pending.
    Story(
        name="control records of other types with a producer's id end nothing",
        events=(txn_commit(5, *FOO0, 10), marker(2, 5), marker(9, 5)),
        new=believed(
            pending={(5, *FOO0): At(10, 0)}, transactions={5: Open(0, 0, ("foo",), 1)}, groups=SIMPLE
        ),
        rules=ONLY_NEW,
    ),
    Story(
        name="records that cannot be decoded",
        events=(
            StoryRecord(None, b"value without a key"),
            StoryRecord(b"\x00\x63key of an unknown type", b""),
            commit(*FOO0, 10)._replace(value=b"\x00\x63\x00"),
            commit(*FOO1, 11)._replace(value=b"\x00\x03\x00"),
            commit(*BAR0, 12),
        ),
        new=believed(
            offsets={BAR0: At(12, 4)},
            groups=SIMPLE,
            anomalies=(
                Anomaly(0, LogOf(LOG_PARTITION), "no key"),
                Anomaly(1, LogOf(LOG_PARTITION), "unknown record type 99"),
                Anomaly(2, OffsetOf(*FOO0), "unknown value version 99"),
                Anomaly(3, OffsetOf(*FOO1), "value"),
            ),
        ),
    ),
    Story(
        name="CoordinatorLoaderImplTest.testUnknownRecordTypeAreIgnored",
        events=((StoryRecord(b"\x00\x63key", b"value"), commit(*FOO0, 10)),),
        new=believed(
            offsets={FOO0: At(10, 1)},
            groups=SIMPLE,
            anomalies=(Anomaly(0, LogOf(LOG_PARTITION), "unknown record type 99"),),
        ),
    ),
    Story(
        name="CoordinatorLoaderImplTest.testDeserializationErrorFailsTheLoading",
        events=((commit(*FOO0, 10), StoryRecord(b"\x00\x01\x00", b"value")),),
        new=believed(
            offsets={FOO0: At(10, 0)},
            groups=SIMPLE,
            anomalies=(Anomaly(1, LogOf(LOG_PARTITION), "not understood"),),
        ),
    ),
    Story(
        name="bytes after a value's end change nothing",
        events=(commit(*FOO0, 10)._replace(value=(commit(*FOO0, 10).value or b"") + b"more"),),
        new=believed(offsets={FOO0: At(10, 0)}, groups=SIMPLE),
    ),
    Story(
        name="an empty group id and the extremes of an offset",
        events=(commit("", "", 2**31 - 1, 2**63 - 1), commit("", "", 0, -1)),
        new=believed(
            offsets={("", "", 2**31 - 1): At(2**63 - 1, 0), ("", "", 0): At(-1, 1)},
            groups={"": "simple Empty"},
        ),
    ),
)
