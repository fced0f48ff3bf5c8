"""The text formatters: where a release prints something else than the one before."""

import pytest

from tests.cases import TOPIC_ID
from tests.dialects.samples import (
    COMMIT_KEY,
    GROUP_KEY,
    LEGACY_KEY,
    commit,
    group,
    member,
    text,
    threw,
)

SCALA_GROUPS = "kafka.coordinator.group.GroupMetadataManager$GroupMetadataMessageFormatter"
TOMBSTONE = None

OLD = "[g,t,5]::[OffsetMetadata[10,m],CommitTime 1000,ExpirationTime {}]\n"
NEW = "[g,t,5]::OffsetAndMetadata(offset=10, leaderEpoch={}, metadata=m, commitTimestamp=1000, expireTimestamp={})\n"


@pytest.mark.parametrize(
    ("release", "value", "want"),
    [
        ("0.9", commit(1, expire_timestamp=2000), OLD.format(2000)),
        ("0.9", commit(0), OLD.format(-1)),
        ("2.0", commit(1), OLD.format(-1)),
        ("2.0", commit(1, metadata=""), OLD.format(-1).replace(",m]", ",NO_METADATA]")),
        ("2.1.1", commit(1), NEW.format("Optional.empty", "Some(-1)")),
        ("2.2.0", commit(1), NEW.format("Optional.empty", "None")),
        ("2.2", commit(1, expire_timestamp=2000), NEW.format("Optional.empty", "Some(2000)")),
        ("2.1", commit(3, leader_epoch=4), NEW.format("Optional[4]", "None")),
        ("2.7", commit(3, leader_epoch=-5), NEW.format("Optional.empty", "None")),
        ("2.8", commit(3, leader_epoch=-5), NEW.format("Optional[-5]", "None")),
        ("3.4.1", commit(4, topic_id=TOPIC_ID), NEW.format("Optional.empty", "None")),
        ("3.8", TOMBSTONE, "[g,t,5]::NULL\n"),
    ],
)
def test_a_commit_as_text(release: str, value: bytes | None, want: str) -> None:
    assert text(release, COMMIT_KEY, value) == want


@pytest.mark.parametrize(
    ("key", "value", "want"),
    [
        (LEGACY_KEY, commit(0), "[g,t,5]::OffsetAndMetadata[10,m,1000]\n"),
        (
            LEGACY_KEY,
            commit(0, commit_timestamp=-1, metadata=""),
            "[g,t,5]::OffsetAndMetadata[10,NO_METADATA]\n",
        ),
        (LEGACY_KEY, TOMBSTONE, "[g,t,5]::NULL\n"),
        (None, commit(0), "NULL::OffsetAndMetadata[10,m,1000]\n"),
    ],
)
def test_0_8_2_prints_records_without_a_key_too(key: bytes | None, value: bytes | None, want: str) -> None:
    assert text("0.8.2", key, value) == want


TEXT = "g::GroupMetadata(groupId=g, generation=3, protocolType={}, currentState={}, members={})\n"
MEMBER = (
    "m1 -> MemberMetadata(memberId=m1, {}clientId=c, clientHost=/h, "
    "sessionTimeoutMs=30, rebalanceTimeoutMs={}, supportedProtocols=List(range){})"
)


@pytest.mark.parametrize(
    ("release", "value", "want"),
    [
        ("0.9", group(0, member()), "g::[g,consumer,Stable,Map(m1 -> [m1,c,/h,30])]\n"),
        ("0.10.0", group(0), "g::[g,consumer,Stable,Map()]\n"),
        ("0.10.1", group(0), "g::[g,None,Empty,Map()]\n"),
        ("0.10.2", group(1, member()), "g::[g,Some(consumer),Stable,Map(m1 -> [m1,c,/h,30])]\n"),
        (
            "0.11",
            group(0, member()),
            TEXT.format("Some(consumer)", "Stable", f"Map({MEMBER.format('', 30, ', ')})"),
        ),
        (
            "2.2",
            group(2, member()),
            TEXT.format("Some(consumer)", "Stable", f"Map({MEMBER.format('', 60, ', ')})"),
        ),
        ("1.0.0", group(1), TEXT.format("None", "Empty", "Map()")),
        ("1.0.1", group(1), TEXT.format("Some(consumer)", "Empty", "Map()")),
        ("2.3", group(1), TEXT.format("Some(consumer)", "Empty", "Map()")),
        ("2.4", group(1), TEXT.format("Some(consumer)", "Empty", "HashMap()")),
        ("3.9.0", group(1, protocol_type=""), TEXT.format("None", "Empty", "HashMap()")),
    ],
)
def test_a_group_as_text(release: str, value: bytes, want: str) -> None:
    name = SCALA_GROUPS if release.startswith("3.9") else "group-metadata"
    assert text(release, GROUP_KEY, value, name) == want


@pytest.mark.parametrize(
    ("release", "version", "instance_id", "shown", "end"),
    [
        ("2.3", 2, None, "None", ", "),
        ("2.7", 3, None, "Some(null)", ", "),
        ("2.7", 3, "i", "Some(i)", ", "),
        ("2.8", 3, None, "None", ", "),
        ("3.0", 3, "i", "Some(i)", ""),
    ],
)
def test_static_members_as_text(
    release: str, version: int, instance_id: str | None, shown: str, end: str
) -> None:
    value = group(version, member(group_instance_id=instance_id), protocol_type="x")
    line = text(release, GROUP_KEY, value, "group-metadata")
    assert MEMBER.format(f"groupInstanceId={shown}, ", 60, end) in line


def test_a_group_without_members_keeps_what_is_null() -> None:
    value = group(3, member(), protocol=None, leader=None, protocol_type="")
    line = text("3.6", GROUP_KEY, value, "group-metadata")
    assert "protocolType=Some()," in line and "supportedProtocols=List(null)" in line


def test_a_group_tombstone_and_other_kinds() -> None:
    assert text("3.6", GROUP_KEY, None, "group-metadata") == "g::NULL\n"
    assert text("3.6", COMMIT_KEY, commit(3), "group-metadata") == ""
    assert text("3.6", GROUP_KEY, group(3), "offsets") == ""
    assert text("0.9", None, None, "group-metadata") == ""


@pytest.mark.parametrize(
    ("release", "members", "said"),
    [
        ("2.1", [member()] * 3, "assertion failed"),
        (
            "3.0",
            [member("a", group_instance_id="i"), member("b", group_instance_id="i")],
            "Static member with groupInstanceId=i cannot be added to group g since it is already a member",
        ),
        (
            "2.8",
            [member(subscription=b"\0\0\xff\xff\xff\xff")],
            "non-nullable field topics was serialized as null",
        ),
    ],
)
def test_groups_that_kafka_decodes_and_cannot_load(release: str, members: list[object], said: str) -> None:
    version = 2 if release == "2.1" else 3
    assert threw(release, GROUP_KEY, group(version, *members), "group-metadata") == said


@pytest.mark.parametrize(
    ("release", "name"), [("2.0", [member()] * 3), ("2.8", [member("a", group_instance_id="i")] * 2)]
)
def test_the_same_groups_in_releases_that_load_them(release: str, name: list[object]) -> None:
    version = 1 if release == "2.0" else 3
    assert text(release, GROUP_KEY, group(version, *name), "group-metadata").count("clientId=c") == 1
