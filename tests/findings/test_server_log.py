"""With the broker's own log a cause that it states is certain and names the line; what no line states stays as it was."""

from dataclasses import replace
from functools import cache
from pathlib import Path
from random import Random
from tempfile import NamedTemporaryFile
from typing import Any, Final

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from offsets_tool.evidence.evidence import open_evidence
from offsets_tool.evidence.expiring import PolicyOverrides
from offsets_tool.evidence.findings.finding import findings_of
from offsets_tool.evidence.replaying import EvidenceReplay
from offsets_tool.expiry.causes import Confidence
from offsets_tool.findings.context import LogContext
from offsets_tool.findings.finder import places_and_lines
from offsets_tool.findings.finders import find_all
from offsets_tool.findings.group_rows import GroupRow
from offsets_tool.findings.membership.departures import NOT_BACK
from offsets_tool.findings.rows import Finding
from offsets_tool.server_log.join import joined_log
from offsets_tool.server_log.notes import notes_on
from offsets_tool.server_log.parse import ServerLogFile, read_server_log
from offsets_tool.story.finding_sentences import log_offsets_of
from offsets_tool.story.story import GroupStory
from tests.corpora import INCIDENTS
from tests.depth import DEEP
from tests.findings.made import GROUP, MINUTE, SECOND, found, group, member, states, until
from tests.rebalances.rebalances_found import rebalances_found
from tests.server_log.logs import log_of, log_saying, path_of, records_of, rows_of

_SLOW: Final = INCIDENTS / "rebalance-storm"
_STORM: Final = INCIDENTS / "rolling-deployment"

STATED: Final = {
    "consumer-protocol-member-killed": (
        "member_timed_out",
        "its session timed out",
        "fenced from the group because",
    ),
    "duplicate-instance-id": (
        "instance_conflict",
        "6 times one that still ran was refused",
        "is fenced by existing",
    ),
    "group-deleted": ("group_deleted", "was deleted", "The following groups were deleted: mailer"),
    "idle-simple-client": (
        "offsets_expired",
        ": expired, as the broker's log says;",
        " expired offsets in ",
    ),
    "member-killed": ("member_timed_out", "its session timed out after 6s", "has failed, removing it"),
    "offsets-deleted": (
        "offsets_deleted",
        "deleted by somebody, as",
        "The following offsets of the group search",
    ),
    "topic-recreated": ("topic_deleted", "the topic was deleted, as", "while deleting offsets for"),
    "unsubscribed-topic-expired": ("offsets_expired", ": expired, as", "Removed 2 expired offsets"),
    "weekend-skipped": ("offsets_expired", ": expired, as", " expired offsets in "),
}
"""By incident: the kind of finding whose cause the broker's log states, what its title says, and what the line has."""


@cache
def findings_in(name: str, log: str | None) -> tuple[Finding, ...]:
    """Return the findings of an incident, with the broker's log of another or of itself."""
    with EvidenceReplay(open_evidence(INCIDENTS / name / "segments")) as replay:
        return tuple(findings_of(replay, PolicyOverrides(), [log_of(INCIDENTS / log)] if log else []))


@pytest.mark.parametrize("name", STATED)
def test_a_cause_that_a_line_states_is_certain(name: str) -> None:
    kind, says, line = STATED[name]
    inferred = [each for each in findings_in(name, None) if each.confidence != Confidence.CERTAIN]
    found = [each for each in findings_in(name, name) if each.kind == kind]
    assert inferred and found
    lines = path_of(INCIDENTS / name).read_text().split("\n")
    for each in found:
        assert each.confidence == Confidence.CERTAIN and not each.alternatives and says in each.title
        places, sources = places_and_lines(each)
        assert sources and all(source.startswith("server.log:") for source in sources)
        assert line in lines[int(sources[0].partition(":")[2]) - 1]
        assert log_offsets_of([each], [kind]) == {int(place.rpartition(":")[2]) for place in places}


@pytest.mark.parametrize("name", ["member-killed", "weekend-skipped", "quiet-night"])
def test_the_log_of_another_broker_proves_nothing(name: str) -> None:
    assert findings_in(name, "topic-recreated") == findings_in(name, None)


def test_only_the_member_whose_session_timed_out_is_said_to_have() -> None:
    """The other one had never committed, so that its silence says nothing; the line says that it left."""
    of_enrich = [
        each.title for each in findings_in("hanging-transaction", None) if each.kind == "member_timed_out"
    ]
    proven = [
        each.title
        for each in findings_in("hanging-transaction", "hanging-transaction")
        if each.kind == "member_timed_out"
    ]
    assert [len(of_enrich), len(proven)] == [1, 1] and "its session timed out after 6s" in proven[0]


def test_a_static_member_that_did_not_come_back_did_so_with_the_log_as_well() -> None:
    """More evidence makes it certain, and says no less: it left for now, and its session was over then."""
    of_kind: dict[str, Any] = {"group_kind": "consumer", "generation": None, "session_timeout_ms": None}
    rows: list[GroupRow] = [
        *states(
            group(0, 0, 1, kind="consumer", generation=None, epoch=1, assignment_epoch=1),
            group(9, MINUTE, 0, kind="consumer", generation=None, epoch=2, assignment_epoch=2),
        ),
        until(member(0, 0, "m", instance_id="i", member_epoch=1, **of_kind), 5, 15 * SECOND, "changed"),
        until(member(5, 15 * SECOND, "m", instance_id="i", member_epoch=-2, **of_kind), 9, MINUTE),
    ]
    of_group = f"[GroupId {GROUP}] Static member m with instance id i"
    log = log_saying(
        f"2023-11-14T22:13:35,000 {of_group} temporarily left the consumer group.",
        f"2023-11-14T22:14:20,000 [GroupId {GROUP}] Member m fenced from the group because its session expired.",
    )
    [inferred], [stated] = found(rows), found(rows, server_log=log)
    assert inferred.confidence == "likely" and stated.confidence == "certain"
    assert stated.title.startswith(inferred.title) and "had said that it would be back" in inferred.title
    assert inferred.remedy == stated.remedy == NOT_BACK


def test_a_storm_has_the_reasons_of_its_rebalances() -> None:
    """The finding was certain before: what it says more is why."""
    [found] = [
        each for each in findings_in("rebalance-storm", "rebalance-storm") if each.kind == "rebalance_storm"
    ]
    [before] = [each for each in findings_in("rebalance-storm", None) if each.kind == "rebalance_storm"]
    assert found.title.startswith(f"{before.title}; by the broker's log: member left ")
    assert len(places_and_lines(found)[1]) == 3


def test_a_storm_counts_what_rebalances_shows() -> None:
    """Its records are those at which rebalances of `offsets-tool rebalances` had a new generation."""
    [found] = [each for each in findings_in("rebalance-storm", None) if each.kind == "rebalance_storm"]
    shown = [row for row in rebalances_found(_SLOW) if row.group == found.group]
    within = [row for row in shown if row.to_at and found.from_at <= row.to_at <= found.to_at]
    places = sorted(int(each.rpartition(":")[2]) for each in found.evidence)
    assert len(within) == len(places) > 15, found.title
    assert places == sorted(row.to_log_offset for row in within)


def test_a_quiet_night_stays_quiet() -> None:
    assert findings_in("quiet-night", "quiet-night") == findings_in("quiet-night", None)


@given(
    st.randoms(use_true_random=False),
    st.integers(-(10**14), 10**14),
    st.lists(st.tuples(st.integers(0, 10**5), st.binary(max_size=30)), max_size=6),
)
@settings(max_examples=1_000 if DEEP else 10, deadline=None)
def test_no_broker_s_log_breaks_a_finding(
    random: Random, shift: int, splices: list[tuple[int, bytes]]
) -> None:
    """Lines in any order, of any time, with any bytes in them: findings are made, and records stay their evidence."""
    lines = path_of(_STORM).read_bytes().split(b"\n")
    text = b"\n".join(random.sample(lines, random.randrange(1, len(lines))))
    for at, some in splices:
        cut = at % (len(text) + 1)
        text = text[:cut] + some + text[cut:]
    found = parsed(text)
    log = replace(
        found,
        entries=[each._replace(at=None if each.at is None else each.at + shift) for each in found.entries],
    )
    server_log = joined_log([log], records_of(_STORM, log))
    assert all(note.startswith("any.log") for note in notes_on(server_log))
    for rows in rows_of(_STORM):
        for each in find_all(rows, LogContext(server_log=server_log)):
            assert each.evidence[0] == f"{each.log_partition}:{each.log_offset}"
        assert GroupStory(rows, [], server_log=server_log).sentences()


def parsed(text: bytes) -> ServerLogFile:
    """Return what a log of these bytes says."""
    with NamedTemporaryFile() as file:
        Path(file.name).write_bytes(text)
        return read_server_log(file.name, "any.log")


def test_evidence_of_one_name_with_a_number_is_no_place(tmp_path: Path) -> None:
    [found] = [
        each for each in findings_in("member-killed", "member-killed") if each.kind == "member_timed_out"
    ]
    assert places_and_lines(found._replace(evidence=("1:23", "./1:23"))) == (["1:23"], ["./1:23"])
