"""Which formatter a name and a release mean, and what to ask instead where they mean none."""

import pytest

from offsets_tool.dialects import Output, formatter
from offsets_tool.dialects.versions import NEWEST, name_of
from offsets_tool.errors import UsageError
from offsets_tool.rows import LogRecord
from tests.dialects.samples import COMMIT_KEY, FUTURE_KEY, LEGACY_KEY, commit, printed, record

LAST = name_of(NEWEST)
SCALA_OFFSETS = "kafka.coordinator.group.GroupMetadataManager$OffsetsMessageFormatter"
JAVA_OFFSETS = "org.apache.kafka.tools.consumer.OffsetsMessageFormatter"


def test_kafkas_class_names_pick_their_own_family_and_release() -> None:
    assert printed(SCALA_OFFSETS, "3.9.2", COMMIT_KEY, commit(3)).text.startswith(b"[g,t,5]::")
    assert printed(SCALA_OFFSETS.replace("$", "\\$"), "3.9.2", COMMIT_KEY, None).text == b"[g,t,5]::NULL\n"
    assert formatter(SCALA_OFFSETS).format(formatted_record()) == Output(b"[g,t,5]::NULL\n")
    assert formatter(JAVA_OFFSETS).format(formatted_record()).text.startswith(b'{"key":{"type":1')
    assert formatter("kafka.server.OffsetManager$OffsetsMessageFormatter").format(formatted_record()).error
    assert formatter("share-group").format(formatted_record()) == Output()


def formatted_record() -> LogRecord:
    return record(COMMIT_KEY, None)


@pytest.mark.parametrize(
    ("name", "version", "remedy"),
    [
        ("share-group", "3.6", f"--kafka-version 4.1 to {LAST}"),
        ("group-metadata", "0.8.2", f"0.9 to 0.10.2, 0.11 to 3.9, 3.9 to {LAST}"),
        (SCALA_OFFSETS, "4.0", f"--formatter {JAVA_OFFSETS}"),
        (JAVA_OFFSETS, "3.8.1", f"--formatter {SCALA_OFFSETS}"),
        ("json", None, "offsets, group-metadata, share-group"),
        ("offsets", "99.0", f"0.8.2 to {LAST}"),
        ("offsets", "0.7", f"0.8.2 to {LAST}"),
        ("offsets", "3.9.2.1", f"0.8.2 to {LAST}"),
        ("offsets", "latest", "X.Y or X.Y.Z"),
        ("offsets", "4", "X.Y or X.Y.Z"),
        ("offsets", "3.²", "X.Y or X.Y.Z"),
    ],
)
def test_what_cannot_be_is_refused_with_what_can(name: str, version: str | None, remedy: str) -> None:
    with pytest.raises(UsageError) as refusal:
        formatter(name, version)
    assert remedy in str(refusal.value)


@pytest.mark.parametrize(
    ("short", "full"),
    [("0.10", "0.10.2.2"), ("0.9", "0.9.0.1"), ("0.8", "0.8.2.2"), ("2.1", "2.1.1"), ("3.4", "3.4.1")],
)
def test_a_family_means_its_last_release(short: str, full: str) -> None:
    for key, value in (
        (FUTURE_KEY, None),
        (COMMIT_KEY, commit(1)),
        (LEGACY_KEY, commit(0)),
        (COMMIT_KEY, commit(4)),
    ):
        assert printed("offsets", short, key, value) == printed("offsets", full, key, value)
