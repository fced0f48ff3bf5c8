"""What holds for the explanations and forecasts of any log, random, cleaned or hostile."""

from collections.abc import Sequence
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

from hypothesis import given
from hypothesis import strategies as st

from offsets_tool.events import Event, decode
from offsets_tool.expiry.causes import Cause, Confidence, Deletion, PolicyConfidence
from offsets_tool.expiry.forecast import forecast
from offsets_tool.expiry.rules import Policy
from offsets_tool.replay.changes import Change, ChangeKind, OffsetOf, PendingOf
from offsets_tool.replay.coordinator import Coordinator
from offsets_tool.replay.rules import Rules
from offsets_tool.rows import LogRecord
from tests import plain_rows
from tests.expiry.log_cleaner import cleaned
from tests.expiry.replayed_corpora import DAY, explained, moment_of
from tests.replay.hostile_sequences import logs
from tests.replay.random_logs import READERS, RandomLog, segment

POLICIES = st.builds(
    Policy,
    st.sampled_from(((0, 8, 2), (0, 9), (1, 1), (2, 1), (2, 4), (3, 9), (4, 3))),
    st.sampled_from((1, 60_000, 7 * DAY)),
    st.sampled_from((1, 600_000)),
)
KNOWN = st.builds(PolicyConfidence, st.booleans(), st.booleans())


def check_explanations(
    log: list[Event], policy: Policy, known: PolicyConfidence, rules: Rules | None = None
) -> None:
    """Assert that each removal is explained once, and that an explanation is consistent."""
    found = explained({0: log}, policy, known)
    coordinator = moment_of({0: log})
    (partition,) = coordinator
    rules = None if partition.coordinator.auto else partition.coordinator.rules
    assert sorted(_places(found)) == sorted(_removed(log, rules))
    for each in found:
        assert each.cause not in each.alternatives
        assert len(set(each.alternatives)) == len(each.alternatives)
        assert each.confidence is not Confidence.CERTAIN or not each.alternatives
        assert each.confidence is not Confidence.AMBIGUOUS or each.alternatives or each.cause is Cause.UNKNOWN
        assert f"0:{each.log_offset}" in each.evidence


Place = tuple[int, str, str, int, int]


def _places(found: Sequence[Deletion]) -> list[Place]:
    return [
        (
            each.log_offset,
            each.group,
            each.topic,
            each.partition,
            -1 if each.producer_id is None else each.producer_id,
        )
        for each in found
    ]


def _removed(log: list[Event], rules: Rules | None) -> list[Place]:
    """Return the offsets that a replay removes: by a tombstone, by a marker, or by a tombstone whose commit is missing."""
    coordinator, gone = Coordinator(0, rules), []
    for event in log:
        changes = coordinator.replay(event)
        gone += [place for change in changes if (place := _place(change)) is not None]
        key = event.key.data if event.key else None
        about = any(isinstance(change.subject, OffsetOf | PendingOf) for change in changes)
        if (
            event.type_id in (0, 1)
            and key is not None
            and event.value is None
            and not event.kept_raw
            and not about
            # In a transaction, the classic coordinator heeds it for pending commits alone: what lives goes on.
            and (key.topic, key.partition) not in coordinator.state.offsets.get(key.group, {})
        ):
            gone.append((event.record.log_offset, key.group, key.topic, key.partition, -1))
    return gone


def _place(change: Change) -> Place | None:
    ends = (ChangeKind.DELETED, ChangeKind.ABORTED, ChangeKind.SUPERSEDED)
    if change.kind not in ends or change.after is not None:
        return None
    match change.subject:
        case OffsetOf(group, topic, partition):
            return change.log_offset, group, topic, partition, -1
        case PendingOf(producer_id, group, topic, partition):
            return change.log_offset, group, topic, partition, producer_id
    return None


@given(logs(), POLICIES, KNOWN)
def test_every_end_in_a_hostile_log_is_explained_once(
    log: list[LogRecord], policy: Policy, known: PolicyConfidence
) -> None:
    check_explanations([decode(record) for record in log], policy, known)


@given(st.integers(0, 999), st.sampled_from(sorted(READERS)), POLICIES, KNOWN, st.booleans())
def test_every_end_in_a_random_log_is_explained_once(
    seed: int, version: str, policy: Policy, known: PolicyConfidence, is_cleaned: bool
) -> None:
    check_explanations(random_log(seed, version, is_cleaned), policy, known)


def random_log(seed: int, version: str, is_cleaned: bool) -> list[Event]:
    placed = RandomLog(seed, READERS[version], 0.05).grow(60).placed
    with TemporaryDirectory() as folder:
        path = Path(folder) / f"{0:020}.log"
        path.write_bytes(segment(cleaned(placed, Random(seed)) if is_cleaned else placed))
        return [decode(record) for record in plain_rows.records([path])]


@given(st.integers(0, 999), st.sampled_from(sorted(READERS)), POLICIES)
def test_longer_retention_never_takes_sooner(seed: int, version: str, policy: Policy) -> None:
    """A forecast is total, and what is kept is kept whatever retention is."""
    (partition,) = moment_of({0: random_log(seed, version, False)})
    short = forecast(partition, policy)
    long = forecast(partition, policy._replace(retention_ms=policy.retention_ms + 1_000))
    for (offset, _, now), (same, _, then) in zip(short, long, strict=True):
        assert offset == same
        assert (now.at is None) == (then.at is None)
        assert now.at is None or then.at is None or now.at <= then.at <= now.at + 1_000
