"""The JSON formatters, 3.9 and later: where a release prints something else than the one before."""

import pytest

from tests.cases import CASES, TOPIC_ID
from tests.dialects.samples import (
    COMMIT_KEY,
    FUTURE_KEY,
    GROUP_KEY,
    LEGACY_KEY,
    commit,
    label,
    text,
    threw,
)

TOMBSTONE = None

KEY_1 = '{{"key":{{"{}":1,"data":{{"group":"g","topic":"t","partition":5}}}},"value":{}}}'
VALUE_3 = '{"version":3,"data":{"offset":10,"leaderEpoch":-1,"metadata":"m","commitTimestamp":1000}}'
VALUE_4 = VALUE_3.replace(":3", ":4", 1)


@pytest.mark.parametrize(
    ("release", "value", "want"),
    [
        ("3.9", commit(3), KEY_1.format("version", VALUE_3)),
        ("4.0", commit(3), KEY_1.format("type", VALUE_3)),
        ("4.0", commit(4, topic_id=TOPIC_ID), KEY_1.format("type", VALUE_4)),
        (
            "4.1",
            commit(4, topic_id=TOPIC_ID),
            KEY_1.format("type", VALUE_4[:-2] + ',"topicId":"AAECAwQFBgcICQoLDA0ODw"}}'),
        ),
        ("3.9", TOMBSTONE, KEY_1.format("version", "null")),
        ("3.9", b"\0\x09", KEY_1.format("version", '{"version":9,"data":"unknown"}')),
        ("4.0", b"\xff\xff", KEY_1.format("type", '{"version":-1,"data":"unknown"}')),
    ],
)
def test_a_commit_as_json(release: str, value: bytes | None, want: str) -> None:
    assert text(release, COMMIT_KEY, value) == want


def test_3_9_prints_what_it_does_not_know_its_value_read_as_a_commit() -> None:
    unknown = f'{{"key":{{"version":99,"data":"unknown"}},"value":{VALUE_3}}}'
    assert text("3.9", FUTURE_KEY, commit(3)) == unknown
    assert text("3.9", None, commit(3)) == f'{{"key":null,"value":{VALUE_3}}}'
    assert text("3.9", GROUP_KEY, b"") == ""


@pytest.mark.parametrize("release", ["4.0", "4.3"])
@pytest.mark.parametrize("key", [None, FUTURE_KEY])
def test_4_0_and_later_skip_what_they_do_not_know(release: str, key: bytes | None) -> None:
    assert text(release, key, b"") == ""


def test_type_0_has_its_own_declaration_since_4_1() -> None:
    assert '"version":3' in text("4.0", LEGACY_KEY, commit(3))
    said = "Could not read record at offset 7 due to: Found an unknown record version 1 for 0 type"
    assert threw("4.1", LEGACY_KEY, commit(1)) == said


def test_4_1_decodes_before_it_looks_whether_it_is_wanted() -> None:
    for kind in ("offsets", "group-metadata", "share-group"):
        said = threw("4.1", b"\0\x03\0\x01g", b"\0\0\0", kind)
        assert said == (
            "Could not read record at offset 7 due to: "
            "Could not read record with version 0 from value's buffer due to: null."
        )
    assert text("4.0", b"\0\x03\0\x01g", b"\0\0\0") == ""


SHARE = {case.name: case for case in CASES if 10 <= case.type <= 15 and case.value is not None}


@pytest.mark.parametrize(
    "name", [name for name in SHARE if not SHARE[name].layout or SHARE[name].layout == "4.1"]
)
def test_share_groups_in_4_1_have_only_their_own_formatter(name: str) -> None:
    case = SHARE[name]
    assert case.value_hex is not None
    key, value = label(case.type, case.key), bytes.fromhex(case.value_hex)
    assert text("4.1", key, value, "share-group").startswith(
        f'{{"key":{{"type":{case.type},"data":{{"groupId":"orders"'
    )
    assert text("4.1", key, value, "group-metadata") == ""


def test_what_4_3_added_is_not_printed_by_4_1() -> None:
    case = SHARE["share_target"]
    key, value = label(case.type, case.key), label(0, case.value)
    assert '"assignmentTimestamp":9' in text("4.3", key, value, "share-group")
    assert text("4.1", key, value, "share-group").endswith(
        '"value":{"version":0,"data":{"assignmentEpoch":5}}}'
    )
