"""What kafka-dump-log --offsets-decoder prints as key and payload, by release, and what it dies of."""

from pathlib import Path

import pytest

from offsets_tool.dialects.dump_log.segment import dump_log
from offsets_tool.log.segment import read_segment
from offsets_tool.records.embedded import ConsumerProtocolSubscription
from tests.dialects.dump_log.segments import NAME, dump, errors, lines
from tests.dialects.samples import (
    COMMIT_KEY,
    FUTURE_KEY,
    GROUP_KEY,
    assignment,
    commit,
    group,
    label,
    member,
)
from tests.log import encoded_batches


def decoded(folder: Path, release: str, key: bytes | None, value: bytes | None) -> str:
    """Return what kafka-dump-log prints behind a record's own facts, or the message of what it throws."""
    outputs = dump(folder, encoded_batches.v2(7, [encoded_batches.record(0, key, value)]), release)
    line = lines(outputs)[-1].partition("headerKeys: []")[2]
    return next(iter(error for error in errors(outputs) if "consecutive" not in error), line)


MEMBERS = (member("m1", assignment=assignment()), member("m2", assignment=assignment(b"\0\xca\xfe")))
SHOWN = "m1=[t-0, t-1, u-7],m2=[t-0, t-1, u-7]:CAFE"
MISSING = "Failed to decode message {}(message had a missing key)"


@pytest.mark.parametrize(
    ("release", "key", "value", "want"),
    [
        (
            "0.11",
            GROUP_KEY,
            group(1, MEMBERS[1]),
            " key: metadata::g payload: consumer:range:3:{m2=[t-0, t-1, u-7]:CAFE}",
        ),
        ("0.11", GROUP_KEY, group(1, protocol=None), " key: metadata::g payload: :null:3:{}"),
        ("1.1", GROUP_KEY, group(1, MEMBERS[0]), "java.lang.NullPointerException"),
        (
            "1.0.0",
            b'\0\x02\0\x01"',
            group(1, protocol=None),
            ' key: {"metadata":"""} payload: {"protocolType":"","protocol":null,"generationId":3,"assignment":"{}"}',
        ),
        (
            "1.0.1",
            b'\0\x02\0\x01"',
            group(1, member(assignment=b"\0\x0a"), protocol_type="x"),
            ' key: {"metadata":"\\""} payload: {"protocolType":"x","protocol":"range","generationId":3,"assignment":"{m1=A}"}',
        ),
        ("2.4.0", COMMIT_KEY, None, ""),
        ("2.4.1", COMMIT_KEY, None, " key: offset_commit::group=g,partition=t-5 payload: <DELETE>"),
        (
            "2.4.1",
            COMMIT_KEY,
            commit(3, metadata=""),
            " key: offset_commit::group=g,partition=t-5 payload: offset=10",
        ),
        ("2.4.1", GROUP_KEY, None, " key: group_metadata::group=g payload: <DELETE>"),
        (
            "3.7",
            GROUP_KEY,
            group(3, *MEMBERS),
            " key: group_metadata::group=g payload: "
            f'{{"protocolType":"consumer","protocol":"range","generationId":3,"assignment":"{{{SHOWN}}}"}}',
        ),
        ("2.0", None, None, ""),
        ("2.0", None, b"", MISSING.format("using offset topic decoder ")),
        ("3.7", None, None, MISSING.format("using offset topic decoder ")),
        ("4.0", None, None, MISSING.format("at offset 7 using offset topic decoder ")),
        ("4.1", None, None, MISSING.format("at offset 7 using the specified decoder ")),
        ("3.4.0", FUTURE_KEY, None, "Unknown group metadata message version: 99"),
        ("3.4.1", FUTURE_KEY, b"", " key: unknown::version=99"),
        ("3.8", FUTURE_KEY, b"", " key: Unknown record type 99 at offset 7, skipping."),
        ("3.9", b"\0\x0a\0\x01g\0\x01m", None, " key: Unknown record type 10 at offset 7, skipping."),
        (
            "4.0",
            b"\0\x0a\0\x01g\0\x01m",
            None,
            ' key: {"type":"10","data":{"groupId":"g","memberId":"m"}} payload: <DELETE>',
        ),
        ("4.3", b"\0", None, " key: Error at offset 7, skipping. Could not read version from key's buffer."),
        (
            "4.3",
            COMMIT_KEY,
            b"\0\x07",
            " key: Error at offset 7, skipping. Found an unknown record version 7 for 1 type",
        ),
        (
            "2.6",
            GROUP_KEY,
            group(3, member()),
            "Error reading field 'version': java.nio.BufferUnderflowException",
        ),
        ("2.7", GROUP_KEY, group(3, member()), "Buffer underflow while parsing consumer protocol's header"),
        ("2.3", GROUP_KEY, group(3, member(assignment=b"\xff\xff")), "Unsupported subscription version: -1"),
        ("2.5", GROUP_KEY, group(3, member(assignment=b"\xff\xff")), "Unsupported assignment version: -1"),
        (
            "2.6",
            GROUP_KEY,
            group(3, member(assignment=b"\0\0\0\0\0\1\0\1t")),
            "Error reading field 'topic_partitions': Error reading field 'partitions': java.nio.BufferUnderflowException",
        ),
        (
            "3.6",
            GROUP_KEY,
            group(3, member(assignment=b"\0\0\0\0\0\1\0\1t")),
            "Buffer underflow while parsing consumer protocol's assignment",
        ),
        (
            "3.6",
            GROUP_KEY,
            group(3, member(assignment=b"\0\0\0\0\0\0\0\0\0\4x")),
            "newLimit > capacity: (4 > 1)",
        ),
        (
            "0.10.0",
            GROUP_KEY,
            group(0, member(assignment=b"\x01"), protocol_type="x"),
            "x != scala.math.BigInt",
        ),
    ],
)
def test_what_a_decoder_prints_or_dies_of(
    tmp_path: Path, release: str, key: bytes | None, value: bytes | None, want: str
) -> None:
    if release.startswith("0.10"):
        (tmp_path / NAME).write_bytes(encoded_batches.message(1, 7, key, value))
        outputs = list(dump_log(NAME, read_segment(tmp_path / NAME), release, base_offset=0))
        assert errors(outputs) == [want]
    else:
        assert decoded(tmp_path, release, key, value) == want


def test_members_blobs_are_json_where_they_parse(tmp_path: Path) -> None:
    subscription = label(0, ConsumerProtocolSubscription(topics=("t",)))
    value = group(
        3,
        member("a", subscription=subscription, assignment=assignment()),
        member("b", subscription=b"\0", assignment=b""),
    )
    shown = decoded(tmp_path, "3.8", GROUP_KEY, value)
    assert (
        '"subscription":{"topics":["t"],"userData":null},"assignment":{"assignedPartitions":[{"topic":"t","partitions":[0,1]}'
        in shown
    )
    assert '"subscription":"AA==","assignment":""' in shown
    other = group(3, member("a", subscription=subscription), protocol_type="connect")
    assert '"subscription":"AAAAAAABAAF0/////w=="' in decoded(tmp_path, "4.3", GROUP_KEY, other)


@pytest.mark.parametrize(
    ("type_id", "version", "rest", "want"),
    [
        # 3.8 and 3.9 read unknown versions as far as the declaration goes; a structure inside may refuse.
        (
            1,
            5,
            commit(4)[2:],
            '"version":"5","data":{"offset":10,"leaderEpoch":-1,"metadata":"m","commitTimestamp":1000}',
        ),
        (1, -1, commit(0)[2:], '"version":"-1","data":{"offset":10,"metadata":"m","commitTimestamp":1000}'),
        (2, 5, group(4, member())[2:], '"version":"5","data":{"protocolType":"consumer"'),
        (7, 1, b"\x02" + bytes(16) + b"\x01\x00\x00", "due to: Can't read version 1 of TopicPartition."),
        (
            7,
            1,
            b"\x02",
            "due to: Tried to allocate a collection of size 1, but there are only 0 bytes remaining..",
        ),
        (7, 1, b"\x02\x00", "due to: Can't read version 1 of TopicPartition."),
        (7, 1, b"\x01\x00", '"version":"1","data":{"topicPartitions":[]}'),
    ],
)
def test_unknown_versions_in_3_9(tmp_path: Path, type_id: int, version: int, rest: bytes, want: str) -> None:
    keys = {1: COMMIT_KEY, 2: GROUP_KEY, 7: b"\0\x07\0\x01g\0\x01m"}
    value = version.to_bytes(2, "big", signed=True) + rest
    assert want in decoded(tmp_path, "3.9", keys[type_id], value)
    assert "Found an unknown record version" in decoded(tmp_path, "4.0", keys[type_id], value)
