"""The causes of rebalances against the lines of the brokers that had them, and against what the stories say was done."""

import json
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Final

import pytest

from offsets_tool.expiry.causes import Confidence
from offsets_tool.rebalances.rows import RebalanceRow
from tests.corpora import CORPORA, INCIDENTS, every_corpus
from tests.depth import DEEP
from tests.findings.deeds import story_of
from tests.rebalances.broker_lines import BrokerReasons, reasons_in
from tests.rebalances.rebalances_found import rebalances_found

_OWN: Final = sorted(INCIDENTS.iterdir())
FOLDERS: Final = [*(every_corpus() if DEEP else (CORPORA / "4.3.1-classic", CORPORA / "4.3.1-kip848")), *_OWN]
"""Evidence whose broker's lines are here."""
TWICE: Final = frozenset({("weekend-read-again", "billing"), ("weekend-skipped", "billing")})
"""Groups that were made again, so that two rebalances have one number."""
DEEDS: Final = {
    "member killed (SIGKILL)": {"session_expired"},
    "member vanished without LeaveGroup": {"session_expired", "member_left"},
    "raw member leaves": {"member_left", "session_expired"},
    "kafka-python closes": {"member_left"},
    "last consumer-protocol member leaves: downgrade to classic": {"group_converted"},
}
"""By what a story says, the causes of which one must be a rebalance's of that group."""
STORIES: Final = ("2.4.1-mix", "3.3.2-mix", "4.3.1-classic", "4.3.1-kip848", "1.1.1-mix", "2.8.2-expiry")


def lines_of(folder: Path) -> Path:
    named = folder / "oracle" / "group-coordinator.log"
    return named if named.is_file() else folder / "group-coordinator.log"


def judged(
    folder: Path, reasons: BrokerReasons, rows: Iterable[RebalanceRow]
) -> Iterator[tuple[RebalanceRow, set[str]]]:
    """Yield the rebalances with a reason in the broker's log, each with the causes that this reason allows."""
    for row in rows:
        if (folder.name, row.group) in TWICE:
            continue
        if row.epoch is not None:
            allowed = reasons.epochs.get((row.group, row.epoch))
            if allowed and "member_resubscribed" in allowed and folder.name.startswith("3.7."):
                # Of a member that joins 3.7 says no more than what it subscribes to.
                allowed = {*allowed, "member_joined"}
        else:
            allowed = reasons.classic.get((row.group, (row.generation or 0) - row.skipped))
        if allowed is not None:
            yield row, allowed


@pytest.mark.slow
def test_causes_are_the_brokers_reasons() -> None:
    """A conversion has no reason of its own: a member joined or left."""
    score, wrong = Counter[tuple[str, bool]](), []
    for folder in (each for each in FOLDERS if lines_of(each).is_file()):
        for row, allowed in judged(folder, reasons_in(lines_of(folder)), rebalances_found(folder)):
            is_right = row.cause in allowed or row.cause == "group_converted"
            score[row.confidence, is_right] += 1
            if not is_right and not (
                row.confidence == Confidence.AMBIGUOUS and allowed & {*row.alternatives}
            ):
                wrong.append((folder.name, row.group, row.generation or row.epoch, row.cause, allowed))
    print(score)
    assert [each for each in wrong if "compaction" not in each[0]] == []
    assert score["certain", True] > 100


def test_what_a_broker_states_is_certain_and_nothing_else_changes() -> None:
    """Every rebalance that a line announces has its cause for certain; a row without a line is as it was."""
    for folder in (each for each in FOLDERS if lines_of(each).is_file()):
        reasons = reasons_in(lines_of(folder))
        inferred, stated = rebalances_found(folder), rebalances_found(folder, lines_of(folder))
        same: dict[str, Any] = {"cause": "", "confidence": "", "alternatives": ()}
        assert [row._replace(**same) for row in stated] == [row._replace(**same) for row in inferred]
        for row, allowed in judged(folder, reasons, stated):
            assert row.confidence == Confidence.CERTAIN, (folder.name, row)
            assert row.cause in {*allowed, "group_converted"}, (folder.name, row)


@pytest.mark.parametrize("name", STORIES)
def test_every_deed_has_its_cause(name: str) -> None:
    rows = rebalances_found(CORPORA / name)
    for step in story_of(CORPORA / name):
        causes = DEEDS.get(step["what"])
        if causes and "group" in step:
            assert causes & {row.cause for row in rows if row.group == step["group"]}, step
        if "resubscribes to" in step["what"]:
            found = {row.cause for row in rows if row.group == step["group"]}
            assert "member_resubscribed" in found, step
        if step["what"] == "partitions added":
            assert any(row.cause == "topics_changed" and step["topic"] in row.topics for row in rows), step


@pytest.mark.parametrize("name", STORIES)
def test_each_generation_that_the_broker_told_of_has_a_row(name: str) -> None:
    checks = json.loads((CORPORA / name / "manifest.json").read_text())["checks"]
    said = checks.get("generations_from_coordinator_log", [])
    numbers = {
        (each["group"], each["generation"]) for each in said if each["event"] in ("stabilized", "empty")
    }
    rows = {(row.group, row.generation) for row in rebalances_found(CORPORA / name) if row.epoch is None}
    # A generation that the next one overtook before its leader answered has no record.
    missing = {(group, number) for group, number in numbers - rows if (group, number + 1) not in numbers}
    assert missing == set()
