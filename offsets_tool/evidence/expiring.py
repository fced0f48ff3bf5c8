"""When the live offsets of an evidence expire, and why others were removed, at the moment of a replay.

Rules, policies and causes are in offsets_tool.expiry; this module replays the evidence for them, and notes what it supposed.
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from offsets_tool.as_of.selection import Wanted
from offsets_tool.as_of.snapshot import Snapshot
from offsets_tool.as_of.views_offsets import current_homes
from offsets_tool.dialects.versions import name_of, parse_release
from offsets_tool.evidence.moments.moment_notes import gaps
from offsets_tool.evidence.replaying import EvidenceReplay
from offsets_tool.evidence.times import parse_duration
from offsets_tool.expiry.forecast import (
    PartitionRemovals,
    ages,
    explained,
    live_ages,
    live_rows,
    removed_rows,
)
from offsets_tool.expiry.log_facts import LogFacts
from offsets_tool.expiry.policy import Basis, ClusterFacts, by_removals
from offsets_tool.expiry.policy_search import Ages
from offsets_tool.expiry.rules import MAX_RETENTION_MS
from offsets_tool.rows import Row
from offsets_tool.time_texts import duration_text, shown_time
from offsets_tool.wire.json import Release


class PolicyOverrides(NamedTuple):
    """Settings of the brokers as the user gives them; others are what the log proves or supports, else Kafka's defaults."""

    release: Release | None = None
    retentions: Sequence[int] = ()
    """Milliseconds; several are compared, and removals are explained by the first."""
    check_interval_ms: int | None = None


def policy_of(
    kafka_version: str | None = None, retention: str | Sequence[str] = (), check_interval: str | None = None
) -> PolicyOverrides:
    """Return settings of the brokers from texts: release ("3.9"), retention ("7d", or several to compare), check interval ("10m").

    A setting that is not given is what the log proves or supports, else Kafka's default. UsageError for an unknown release or an
    unreadable span.

    >>> policy_of("3.9", "7d")
    PolicyOverrides(release=(3, 9), retentions=(604800000,), check_interval_ms=None)
    """
    texts = (retention,) if isinstance(retention, str) else retention
    return PolicyOverrides(
        release=_family(kafka_version),
        retentions=tuple(parse_duration(text, "--retention", MAX_RETENTION_MS) for text in texts),
        check_interval_ms=None
        if check_interval is None
        else parse_duration(check_interval, "--check-interval"),
    )


def _family(text: str | None) -> Release | None:
    """Return major and minor of a release, (3, 9) for "3.9.1": rules of expiry do not change with patches."""
    return tuple(map(int, name_of(parse_release(text)).split("."))) if text else None


class FoundExpiry(NamedTuple):
    """Rows of ExpiryRow: one for each live offset and retention, then one for each removed offset."""

    rows: list[Row]
    facts: dict[int | None, LogFacts]
    """What the records of each log partition say of its cluster."""


def find_expiry(replay: EvidenceReplay, given: PolicyOverrides, wanted: Wanted) -> FoundExpiry:
    """Run the replay; return the rows of the wanted groups, and what they rest on.

    Notes what of the policy is supposed, and what the log cannot tell.
    """
    if replay.take_states():
        removals = replay.evidence.kept_removals(replay.run())
    else:
        removals = replay.ask(lambda histories: histories.removals())
    return expiry_of(replay, given, wanted, removals)


def expiry_of(
    replay: EvidenceReplay, given: PolicyOverrides, wanted: Wanted, removals: list[PartitionRemovals]
) -> FoundExpiry:
    """Return the expiry of a replay that has run as `find_expiry` does, given the removals of all its partitions.

    Of a group that lies in several log partitions, what is live is in the one where it lives now.
    """
    snapshot = replay.snapshot
    bases = [
        _searched(basis, removals, snapshot, given)
        for basis in bases_of((each.facts for each in removals), given)
    ]
    first = bases[0]
    for text in (basis_note(first), *gaps(snapshot)):
        if text:
            replay.evidence.note(text)
    found = explained(removals, snapshot.newest_timestamp, first.policy, first.known)
    homes = current_homes(snapshot)
    rows = [
        row for basis in bases for row in live_rows(snapshot, basis.policy, _now(snapshot), wanted, homes)
    ]
    rows.sort(key=lambda row: (row["group"], row["topic"], row["partition"], row["retention_ms"]))
    return FoundExpiry(
        rows + removed_rows(found, first.policy, wanted),
        {each.partition.log_partition: each.facts for each in removals},
    )


def bases_of(facts: Iterable[LogFacts], given: PolicyOverrides) -> list[Basis]:
    """Return a policy for each retention that is given, and else one, with what it rests on; `facts` are a cluster's."""
    cluster_facts = ClusterFacts()
    for each in facts:
        cluster_facts.add(each)
    retentions: Sequence[int | None] = given.retentions or [None]
    return [cluster_facts.basis(given.release, each, given.check_interval_ms) for each in retentions]


def _searched(
    basis: Basis, removals: list[PartitionRemovals], snapshot: Snapshot, given: PolicyOverrides
) -> Basis:
    """Return the basis with the retention and check interval that removals prove, unless the user gave them."""

    def live() -> Ages:
        return live_ages(removals, snapshot.newest_timestamp, basis.policy)

    is_given = given.check_interval_ms is not None
    return by_removals(basis, ages(removals, basis.policy), live, interval_given=is_given)


def _now(snapshot: Snapshot) -> int | None:
    return snapshot.newest_timestamp if snapshot.as_of.time is None else snapshot.as_of.time


def basis_note(basis: Basis) -> str | None:
    """Return what of the policy is supposed, and which options would say it better; None if all was given."""
    release = ".".join(map(str, basis.policy.release))
    supposed = [f"by the rules of {release} ({basis.release_by})"] if basis.release_by else []
    if basis.retention_by:
        supposed.append(f"retention {duration_text(basis.policy.retention_ms)} ({basis.retention_by})")
    if basis.interval_by:
        by = "" if basis.retention_by else f" ({basis.interval_by})"
        supposed.append(f"checks every {duration_text(basis.policy.check_interval_ms)} or sooner{by}")
    earlier = basis.policy.before
    while earlier is not None:
        retention = duration_text(earlier.policy.retention_ms)
        rules = ".".join(map(str, earlier.policy.release))
        supposed.append(
            f"before {shown_time(earlier.until)} by those of {rules} ({earlier.words}), retention {retention}"
        )
        earlier = earlier.policy.before
    given = (
        ("--kafka-version", basis.release_by),
        ("--retention", basis.retention_by),
        ("--check-interval", basis.interval_by),
    )
    *first, last = [option for option, by in given if by] or [""]
    better = " and ".join([", ".join(first), last] if first else [last])
    return f"supposed: {', '.join(supposed)}; {better} say it better" if supposed else None
