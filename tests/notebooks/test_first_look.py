"""01_first_look says of evidence what Kafka's own tools say of it."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from tests.corpora import CORPORA, FIXTURES
from tests.notebooks.execute import execute, html_of, outputs, run_cells

NAME = "01_first_look.ipynb"
REPLICAS = CORPORA.parent / "corpora-replicated" / "4.1.2-replicas"
pytestmark = pytest.mark.slow


def objects(corpus: Path, formatter: str) -> list[Any]:
    """Return the objects that Kafka's JSON formatter printed, with nothing between them."""
    decoder = json.JSONDecoder()
    found = []
    for path in sorted((corpus / "oracle").glob(f"{formatter}-formatter-[0-9]*.txt")):
        text, at = path.read_text(), 0
        while at < len(text):
            value, at = decoder.raw_decode(text, at)
            found.append(value)
    return found


def dumped(corpus: Path, pattern: str) -> int:
    """Return how many lines of Kafka's dump of the segments begin with a match of a pattern."""
    dumps = (corpus / "oracle").glob("dump-log-offsets-decoder-*[0-9].txt")
    return sum(len(re.findall(f"^{pattern}", path.read_text(), re.MULTILINE)) for path in dumps)


def test_it_agrees_with_kafka() -> None:
    """Batches as kafka-dump-log counts them, commits and groups as the formatters print them, hashes as recorded."""
    names = run_cells(NAME).names
    files, kinds, groups = names["files"], names["kinds"]["records"], names["groups"].set_index("group")
    corpus = CORPORA / "4.3.1-classic"
    commits, written = objects(corpus, "offsets"), objects(corpus, "group-metadata")
    assert files["adds_up"].all()
    assert files["batches"].sum() == dumped(corpus, "baseOffset: ")
    assert files["records"].sum() == dumped(corpus, r"\| offset: ") == len(commits) + len(written)
    assert {" ".join(kind): records for kind, records in kinds.items()} == {
        "OffsetCommit value": sum(item["value"] is not None for item in commits),
        "OffsetCommit tombstone": sum(item["value"] is None for item in commits),
        "GroupMetadata value": sum(item["value"] is not None for item in written),
        "GroupMetadata tombstone": sum(item["value"] is None for item in written),
    }
    named = [item["key"]["data"]["group"] for item in commits + written]
    assert groups["records"].to_dict() == {group: named.count(group) for group in named}
    recorded = json.loads((corpus / "manifest.json").read_text())["files"]
    hashes = dict(zip(files["source"], files["sha256"], strict=True))
    assert hashes == {name: recorded[f"segments/{name}"]["sha256"] for name in hashes}


def transactional(corpus: Path) -> int:
    """Return the number of records in transactional batches of Kafka's dump, without markers."""
    found, inside = 0, False
    for path in sorted((corpus / "oracle").glob("dump-log-offsets-decoder-*[0-9].txt")):
        for line in path.read_text().splitlines():
            if line.startswith("baseOffset: "):
                inside = "isTransactional: true isControl: false" in line
            found += inside and line.startswith("| offset: ")
    return found


@pytest.mark.parametrize(
    ("evidence", "commits_in_transactions"),
    [
        # Two brokers' copies, unlike each other; markers and transactions; 0.8 without any time in its records.
        (REPLICAS / "brokers", None),
        (CORPORA / "4.3.1-txn" / "segments", transactional(CORPORA / "4.3.1-txn")),
        (CORPORA / "0.8.2.2-gzip" / "segments" / "__consumer_offsets-2", 0),
    ],
    ids=["replicas", "transactions", "0.8"],
)
def test_other_evidence(
    evidence: Path, commits_in_transactions: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It runs on whatever it is pointed at, and what it shows names no folder of the machine."""
    monkeypatch.setenv("OFFSETS_TOOL_EVIDENCE", str(evidence))
    ran = run_cells(NAME)
    in_short = ran.shown[-1]["evidence"]
    assert in_short["everything adds up"]
    assert in_short["files"] == len(list(evidence.rglob("*.log")))
    assert commits_in_transactions in (None, in_short["commits in a transaction"])
    assert not any(str(evidence) in html for html in html_of(ran.shown))


@pytest.mark.notebook
@pytest.mark.parametrize("name", [NAME, "02_one_group.ipynb", "03_incident_review.ipynb"])
def test_a_kernel_of_its_own_draws_the_pictures(
    name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("OFFSETS_TOOL_REPORT", str(tmp_path / "incident.html"))
    drawn, notebook = execute(name, "len(pictures)")
    assert drawn and len(outputs(notebook, "image/png")) >= drawn
    assert outputs(notebook, "text/html")
