"""Records against Kafka's own serde in a JVM: what it reads we read to the same value and bytes; what it refuses we refuse, but for
the differences that are named here, each of which keeps what Kafka drops.
"""

import json
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from offsets_tool import events
from offsets_tool.blobs import consumer_subscription
from offsets_tool.events import Event
from offsets_tool.records import RECORD_TYPES
from offsets_tool.rows import LogRecord
from offsets_tool.wire import walk
from offsets_tool.wire.json import release_of, render, to_json
from offsets_tool.wire.text import java_text
from oracle.jars import KAFKA
from tests.cases import CASES
from tests.depth import DEEP
from tests.dialects.hostile import Hostile
from tests.records import subscriptions
from tests.records.test_cases import key_bytes
from tests.replay.story import group_metadata, member
from tests.replay.story_segments import in_order, segment

if TYPE_CHECKING:
    from oracle.answers import Read
    from oracle.client import Oracle

pytestmark = pytest.mark.java

NEWEST = max(KAFKA, key=release_of)
RECORDS = 200_000 if DEEP else 6_000
AT_ONCE = min(RECORDS, 20_000)


class Difference(NamedTuple):
    """A kind of record that we read and the newest Kafka does not."""

    name: str
    example: tuple[str, str]
    """Key and value, in hex."""


KEPT = (
    Difference("retired type", ("0009000167", "00000101 00".replace(" ", ""))),
    Difference(
        "type 0 with a later value version",
        ("000000016700017400000000", "0003" + "00" * 12 + "0000" + "00" * 8),
    ),
    Difference("negative number of tags", ("000c000167", "000000000005ffffffff6e")),
    Difference("earlier layout", ("000b000167", "00000000000500")),
)


def decoded(key: bytes | None, value: bytes | None) -> Event:
    return events.decode(
        LogRecord(source="", log_partition=0, log_offset=0, timestamp=0, key=key, value=value)
    )


def difference(event: Event) -> str | None:
    """Return the name of the Difference by which we read an event that Kafka refuses; None if there is none."""
    if event.key is None or event.kept_raw is not None:
        return None
    record_type = event.key.type
    if record_type.until:
        return "retired type"
    if record_type.id == 0 and event.value_version:
        return "type 0 with a later value version"
    if event.value is not None and event.value.layout != record_type.layouts[0].since:
        return "earlier layout"
    return None


def check(key: bytes | None, value: bytes | None, theirs: "Read") -> str:
    """Compare our reading of one record with Kafka's; return how the two agree."""
    event = decoded(key, value)
    refused = theirs.key is None or (value is not None and theirs.value is None)
    if refused:
        assert theirs.error is not None
        found = difference(event) or _since_4_4(theirs.error.message or "")
        # A key that is read though its value is refused is no disagreement.
        assert event.kept_raw is not None or found, (key, value, theirs.error, event)
        return found or "refused"
    if difference(event) == "earlier layout":
        # Kafka reads the beginning of these bytes as something else and ignores the rest.
        assert theirs.error is not None or theirs.value_bytes != value
        return "earlier layout"
    assert event.kept_raw is None and event.key is not None and theirs.key is not None, (key, value, event)
    told_key, told_value = json.loads(theirs.key), theirs.value and json.loads(theirs.value)
    assert told_key == {"type": event.key.type.id, "data": to_json(event.key.data, 0)}
    ours = event.value and {
        "version": event.value.version,
        "data": to_json(event.value.data, event.value.version),
    }
    assert (ours and render(ours)) == (told_value and theirs.value), (key, value)
    # What Kafka reads and cannot write again (a tag twice) has an error beside its JSON.
    if not event.problem and theirs.error is None:
        assert walk.encode(event.key.data, 0) == (theirs.key_bytes or b"")[2:]
        if event.value is not None and not _has_unknown_tags(event):
            assert events.encode_value(event.value) == theirs.value_bytes, (key, value)
    return "read with a problem" if event.problem else "read"


def _since_4_4(message: str) -> str | None:
    """Return the difference in a message of Kafka 4.4: a negative number of tags, which earlier releases take for none."""
    return "negative number of tags" if "Invalid negative number of tagged fields" in message else None


def _has_unknown_tags(event: Event) -> bool:
    assert event.value is not None
    return "unknownTags" in json.dumps(to_json(event.value.data, event.value.version, unknown_tags=True))


def test_generated_damaged_and_garbage_records(oracle: "Oracle") -> None:
    seen: Counter[str] = Counter()
    hostile = Hostile(2026)
    for _ in range(RECORDS // AT_ONCE):
        pairs = hostile.records(AT_ONCE)
        for (key, value), theirs in zip(pairs, oracle.serde(NEWEST, pairs), strict=True):
            seen[check(key, value, theirs)] += 1
    assert sum(seen.values()) == RECORDS
    assert min(seen["read"], seen["refused"], seen["read with a problem"]) > RECORDS // 100, seen
    # A negative number of tags is rare: among many there are some, each kind has a record of its own below.
    assert all(seen[known.name] for known in KEPT if DEEP or known.name != "negative number of tags"), seen


@pytest.mark.parametrize("known", KEPT, ids=lambda known: known.name)
def test_each_deliberate_difference_keeps_what_kafka_refuses(oracle: "Oracle", known: Difference) -> None:
    key, value = (bytes.fromhex(side) for side in known.example)
    (theirs,) = oracle.serde(NEWEST, [(key, value)])
    assert theirs.error is not None
    assert check(key, value, theirs) == known.name


def test_the_cases_are_what_kafka_writes(oracle: "Oracle") -> None:
    """Our bytes for each case of the newest layouts are Kafka's bytes for the same JSON."""
    cases = [
        case
        for case in CASES
        if case.layout in ("", RECORD_TYPES[case.type].layouts[0].since)
        and not RECORD_TYPES[case.type].until
        and not (case.type == 0 and case.version)
        and "unknown_tag" not in case.name
    ]
    asked = [
        (
            case.type,
            render(to_json(case.key, 0)),
            case.version or 0,
            None if case.value is None else render(to_json(case.value, case.version or 0)),
        )
        for case in cases
    ]
    for case, written in zip(cases, oracle.encode(NEWEST, asked), strict=True):
        assert written.error is None, (case.name, written.error)
        assert (written.key, written.value) == (
            key_bytes(case),
            None if case.value_hex is None else bytes.fromhex(case.value_hex),
        ), case.name
    assert len(cases) > 40


@settings(
    max_examples=2_000 if DEEP else 40,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(st.lists(subscriptions.blobs(), min_size=1, max_size=50))
def test_topics_are_those_that_brokers_read(oracle: "Oracle", blobs: list[bytes]) -> None:
    """Where Kafka throws another thing than the SchemaException that coordinators forgive, they load no such group at all."""
    for blob, theirs in zip(blobs, oracle.blob("topics", blobs), strict=True):
        message = consumer_subscription(blob)
        ours = None if message is None else [java_text(topic) for topic in message.topics]
        assert ours == (None if theirs.text is None else json.loads(theirs.text)), (blob.hex(), theirs.error)


@pytest.mark.parametrize(
    ("version", "is_classic"),
    [("4.3.1", False), ("4.0.2", False), ("3.9.2", False), ("3.9.2", True), ("3.6.2", True), ("2.8.2", True)],
)
def test_loaded_groups_are_subscribed_to_what_is_read(
    oracle: "Oracle", version: str, is_classic: bool, tmp_path: Path
) -> None:
    """Groups of one member, and groups where a member asks for another topic: one unread subscription, and Kafka knows none."""
    besides = member("other", subscription=subscriptions.said(0, 0).replace(b"pay", b"fee"))
    records = [
        group_metadata(f"{number}{name}", 1, member("m", subscription=case.blob), *more)
        for number, case in enumerate(subscriptions.TABLE)
        for name, more in (("alone", ()), ("two", (besides,)))
    ]
    log = tmp_path / "00000000000000000000.log"
    log.write_bytes(segment(in_order(*records)))
    [state] = oracle.load(version, log, classic=is_classic)
    assert state.error is None
    for number, case in enumerate(subscriptions.TABLE):
        alone, two = (
            (None, None) if case.topics is None else ({*case.topics}, {*case.topics, "orders", "fee"})
        )
        for name, topics in (("alone", alone), ("two", two)):
            theirs = state.groups[f"{number}{name}"].subscribed_topics
            assert (None if theirs is None else {*theirs}) == topics, case.name
