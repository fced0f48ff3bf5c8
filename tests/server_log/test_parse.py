"""Lines of coordinators of all releases become entries; what stands around them does not matter, and no bytes raise."""

import gzip
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from offsets_tool.errors import SourceError
from offsets_tool.server_log.parse import LogLines, groups_in, read_server_log, read_server_logs
from offsets_tool.server_log.server_line import LineKind, ServerLine
from tests.server_log.logs import folders, log_of, path_of

OLD = "[GroupCoordinator 0]: "
MANAGER = "[GroupMetadataManager brokerId=0] "
NEW = "[GroupCoordinator id=1 topic=__consumer_offsets partition=7] "
M = "c1-0b1f0f3c-5e0e-4d3c-9a57-2f7f6f0c9a11"
CASES: list[tuple[str, LineKind, dict[str, Any]]] = [
    (
        "[GroupCoordinator 0]: Preparing to restabilize group g with old generation 0",
        LineKind.PREPARING,
        {"group": "g", "number": 0},
    ),
    (OLD + "Group g generation 2 is dead and removed", LineKind.DEAD, {"group": "g", "number": 2}),
    (
        OLD + "Preparing to rebalance group a b with old generation 1 (__consumer_offsets-3)",
        LineKind.PREPARING,
        {"group": "a b", "number": 1, "log_partition": 3, "reason": None},
    ),
    (
        OLD
        + f"Preparing to rebalance group g in state PreparingRebalance with old generation 1 (__consumer_offsets-3) (reason: "
        f"removing "
        f"member {M} on heartbeat expiration)",
        LineKind.PREPARING,
        {"group": "g", "reason": f"removing member {M} on heartbeat expiration"},
    ),
    (
        NEW
        + f"Preparing to rebalance group g in state PreparingRebalance with old generation 4 (reason: explicit "
        f"`LeaveGroup` request for ({M}) members.).",
        LineKind.PREPARING,
        {"number": 4, "log_partition": 7, "reason": f"explicit `LeaveGroup` request for ({M}) members"},
    ),
    (
        OLD + "Stabilized group g generation 2 (__consumer_offsets-0) with 3 members",
        LineKind.STABILIZED,
        {"number": 2, "members": 3},
    ),
    (
        NEW + "Stabilized group g generation 2 with 3 members.",
        LineKind.STABILIZED,
        {"number": 2, "members": 3},
    ),
    (
        OLD + "Assignment received from leader for group g for generation 1",
        LineKind.ASSIGNED,
        {"group": "g", "members": None},
    ),
    (
        NEW
        + f"Assignment received from leader {M} for group g for generation 1. The group has 2 members, 1 of which are static.",
        LineKind.ASSIGNED,
        {"group": "g", "members": 2, "member_id": M},
    ),
    (
        OLD + "Group g with generation 3 is now empty (__consumer_offsets-2)",
        LineKind.EMPTIED,
        {"group": "g", "number": 3},
    ),
    (MANAGER + "Group g transitioned to Dead in generation 3", LineKind.DEAD, {"group": "g"}),
    (
        OLD + f"Member {M} in group g has failed, removing it from the group",
        LineKind.EXPIRED,
        {"group": "g", "member_id": M},
    ),
    (
        OLD
        + f"Member[group.instance.id Some(i-1), member.id {M}] in group g has left, removing it from the group",
        LineKind.LEFT,
        {"group": "g", "member_id": M, "instance_id": "i-1"},
    ),
    (
        OLD
        + f"Member MemberMetadata(memberId={M}, groupInstanceId=None, clientId=c, clientHost=/::1, sessionTimeoutMs=45000, "
        "rebalanceTimeoutMs=300000, supportedProtocols=List(range)) has left group g through explicit `LeaveGroup`; client "
        "reason: the "
        "consumer is being closed",
        LineKind.LEFT,
        {"group": "g", "member_id": M, "reason": "the consumer is being closed"},
    ),
    (
        NEW
        + f"[Group g] Member {M} has left group through explicit `LeaveGroup` request; client reason: not provided",
        LineKind.LEFT,
        {"group": "g", "member_id": M},
    ),
    (
        NEW + f"[GroupId g] Member {M} left the consumer group.",
        LineKind.LEFT,
        {"group": "g", "member_id": M},
    ),
    (
        NEW + f"[GroupId g][MemberId {M}] Member {M} left the streams group.",
        LineKind.LEFT,
        {"group": "g", "member_id": M},
    ),
    (
        NEW + f"[GroupId g] Static Member {M} with instance id i temporarily left the consumer group.",
        LineKind.AWAY,
        {"member_id": M, "instance_id": "i"},
    ),
    (
        NEW + f"[GroupId g] Member {M} fenced from the group because its session expired.",
        LineKind.EXPIRED,
        {"member_id": M},
    ),
    (
        NEW + f"[GroupId g] Member {M} fenced from the group because the member session expired..",
        LineKind.EXPIRED,
        {"member_id": M},
    ),
    (
        NEW
        + f"[GroupId g] Member {M} fenced from the group because it failed to transition from epoch 4 within 5000ms.",
        LineKind.TOO_SLOW,
        {"member_id": M, "reason": "it failed to transition from epoch 4 within 5000ms"},
    ),
    (
        OLD + f"Group g removed dynamic members who haven't joined: Set({M})",
        LineKind.TOO_SLOW,
        {"group": "g", "reason": "joined"},
    ),
    (
        OLD
        + f"Static member Some(i) of group g with unknown member id rejoins, assigning new member id n-2, while old member id "
        f"{M} will "
        "be removed.",
        LineKind.REPLACED,
        {"group": "g", "member_id": M, "instance_id": "i"},
    ),
    (
        NEW
        + f"Static member with groupInstanceId=i and unknown member id joins group g in Stable state. Replacing previously mapped "
        f"member {M} with this groupInstanceId.",
        LineKind.REPLACED,
        {"group": "g", "member_id": M, "instance_id": "i"},
    ),
    (
        OLD
        + f"Request memberId={M} for static member with groupInstanceId=i is fenced by current memberId=n-2 during operation "
        f"heartbeat",
        LineKind.FENCED,
        {"member_id": M, "instance_id": "i"},
    ),
    (
        NEW + f"[GroupId g] Member {M} updated its subscribed topics to: [a, b].",
        LineKind.SUBSCRIBED,
        {"member_id": M, "text": "[a, b]"},
    ),
    (
        NEW + "[GroupId g] Bumped group epoch to 3 with metadata hash -12.",
        LineKind.EPOCH,
        {"group": "g", "number": 3},
    ),
    (NEW + "[GroupId g]] Bumped group epoch to 3.", LineKind.EPOCH, {"group": "g]", "number": 3}),
    (
        OLD + "The following groups were deleted: a,b]::x:[y=1],c. A total of 2 offsets were removed.",
        LineKind.GROUPS_DELETED,
        {"text": "a,b]::x:[y=1],c", "number": 2},
    ),
    (OLD + "The following groups were deleted: g", LineKind.GROUPS_DELETED, {"text": "g", "number": None}),
    (
        OLD
        + "The following offsets of the group g were deleted: t-0, t-1. A total of 2 offsets were removed.",
        LineKind.OFFSETS_DELETED,
        {"group": "g", "text": "t-0, t-1"},
    ),
    (
        OLD + "Removed 4 offsets associated with deleted partitions: t-1, t-0.",
        LineKind.TOPICS_DELETED,
        {"text": "t-1, t-0"},
    ),
    (
        NEW
        + "Generated 5 tombstone records in 1 milliseconds while deleting offsets for topics [DeletedTopic[id=x, name=t]].",
        LineKind.TOPICS_DELETED,
        {"text": "DeletedTopic[id=x, name=t]", "took_ms": 1},
    ),
    (
        MANAGER + "Removed 4 expired offsets in 2 milliseconds.",
        LineKind.OFFSETS_EXPIRED,
        {"number": 4, "took_ms": 2},
    ),
    (
        "[TransactionCoordinator id=0] Initialized transactionalId t x with producerId 9 and producer epoch 2 on partition "
        "__transaction_state-1",
        LineKind.TRANSACTION_BEGAN,
        {"text": "t x", "producer_id": 9, "number": 2},
    ),
    (
        "[TransactionCoordinator id=0] Completed rollback of ongoing transaction for transactionalId t x due to timeout",
        LineKind.TRANSACTION_TIMED_OUT,
        {"text": "t x"},
    ),
    (
        "[Group Metadata Manager on Broker 0]: Loading offsets and group metadata from [__consumer_offsets,1]",
        LineKind.LOADING,
        {"log_partition": 1},
    ),
    (
        "[GroupCoordinator id=1] Scheduling loading of metadata from __consumer_offsets-4 with epoch 2",
        LineKind.LOADING,
        {"log_partition": 4},
    ),
]
FRAMES = (
    "[2026-11-21 12:22:55,400] INFO {} (kafka.coordinator.group.GroupCoordinator)",
    "[2026-11-21T12:22:55,400] INFO {} (org.apache.kafka.coordinator.group.GroupMetadataManager)\r",
    "2026-11-21T13:22:55.400+0100 INFO  {}",
    "2026-11-21 12:22:55.400Z | INFO | kafka-request-handler-3 | {}",
    "2026-11-21T14:22:56.012345678Z stdout F [2026-11-21 12:22:55,400] INFO {} (kafka.coordinator.group.GroupCoordinator)",
    "Nov 21 12:22:56 host kafka[12]: [2026-11-21 12:22:55,400] INFO {} (kafka.coordinator.group.GroupCoordinator)",
    '{{"log": "[2026-11-21 12:22:55,400] INFO {} (kafka.coordinator.group.GroupCoordinator)\\n", "stream": "stdout"}}',
    '{{"@timestamp": "2026-11-21T12:22:55.400Z", "level": "INFO", "message": "{}"}}',
)
AT = 1_795_263_775_400


def parsed(text: bytes, folder: Path) -> list[ServerLine]:
    (folder / "server.log").write_bytes(text)
    return read_server_log(str(folder / "server.log"), "server.log").entries


@pytest.mark.parametrize(
    ("message", "kind", "fields"), CASES, ids=lambda value: value[:60] if isinstance(value, str) else ""
)
def test_each_form_of_a_line_says_what_it_says(
    message: str, kind: LineKind, fields: dict[str, Any], tmp_path: Path
) -> None:
    for frame in FRAMES:
        [entry] = parsed(frame.format(message).encode(), tmp_path)
        assert (entry.kind, entry.at, entry.source) == (kind, AT, "server.log:1"), frame
        assert {name: getattr(entry, name) for name in fields} == fields


def test_a_line_that_says_its_zone_is_known_to_do_so(tmp_path: Path) -> None:
    is_zoned = [parsed(frame.format(CASES[0][0]).encode(), tmp_path)[0].is_zoned for frame in FRAMES]
    assert is_zoned == [False, False, True, True, False, False, False, True]


@pytest.mark.parametrize("folder", folders(), ids=lambda path: path.name)
def test_every_line_that_brokers_wrote_is_understood(folder: Path) -> None:
    """But errors, which are bugs of the broker."""
    lines = path_of(folder).read_text(errors="replace").split("\n")
    unknown = [lines[number - 1] for number in log_of(folder).unknown]
    assert [line for line in unknown if " INFO " in line] == []


def test_what_is_not_understood_is_counted(tmp_path: Path) -> None:
    path = tmp_path / "server.log"
    path.write_text(f"{OLD}Something new\n\tat java.lang.Thread\n{CASES[0][0]}\n[SocketServer] hello\n")
    found = read_server_log(str(path), "server.log")
    assert (found.lines, found.understood, found.unknown) == (4, 1, [1])
    assert groups_in([found]) == {"g"}


def test_a_compressed_file_is_read_as_far_as_it_goes(tmp_path: Path) -> None:
    text = "".join(f"{frame.format(CASES[0][0])}\n" for frame in FRAMES * 200).encode()
    whole = gzip.compress(text)
    for size, is_torn in ((len(whole), False), (len(whole) - 20, True)):
        (tmp_path / "server.log.gz").write_bytes(whole[:size])
        found = read_server_log(str(tmp_path / "server.log.gz"), "server.log.gz")
        assert found.is_torn is is_torn and (found.understood > 1 or is_torn)


def test_a_file_that_is_not_there_is_refused(tmp_path: Path) -> None:
    for path in (tmp_path / "none.log", tmp_path):
        with pytest.raises(SourceError, match="cannot be read"):
            list(LogLines(str(path)))


def test_files_of_one_name_are_told_apart(tmp_path: Path) -> None:
    paths = [tmp_path / name / "server.log" for name in ("a", "b")]
    for path in paths:
        path.parent.mkdir()
        path.write_text("x\n")
    assert [each.name for each in read_server_logs([*map(str, paths), str(paths[0])])] == [*map(str, paths)]
    assert [each.name for each in read_server_logs([str(paths[0])])] == ["server.log"]


def test_a_source_is_never_taken_for_a_place_of_the_log() -> None:
    assert ServerLine(LineKind.LEFT, "3", 45, None).source == "./3:45"


_PIECES = st.sampled_from(
    [frame.encode() for frame in FRAMES]
    + [message.encode() for message, *_ in CASES]
    + [b"\n", b"\x1f\x8b", b"{", b'"log": "', b"9" * 30]
)


@given(
    st.one_of(
        st.binary(max_size=400),
        st.lists(st.one_of(_PIECES, st.binary(max_size=12)), max_size=12).map(b"".join),
    )
)
def test_no_bytes_raise(tmp_path_factory: pytest.TempPathFactory, text: bytes) -> None:
    found = read_server_log(str(_written(tmp_path_factory, text)), "server.log")
    assert found.understood + len(found.unknown) <= found.lines <= text.count(b"\n") + 1


def _written(factory: pytest.TempPathFactory, text: bytes) -> Path:
    path = factory.getbasetemp() / "any.log"
    path.write_bytes(text)
    return path
