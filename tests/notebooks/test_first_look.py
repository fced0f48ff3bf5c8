"""01_first_look says of evidence what Kafka's own tools say of it."""

import json
import re
from pathlib import Path
from typing import Any

import nbformat
import pytest

from tests.corpora import CORPORA, FIXTURES
from tests.notebooks.execute import NOTEBOOKS, execute, outputs

NAME = "01_first_look.ipynb"
REPLICAS = CORPORA.parent / "corpora-replicated" / "4.1.2-replicas"
FACTS = """{
    "summary": {k: v for k, v in _["evidence"].items() if isinstance(v, (int, str)) and not isinstance(v, bool)},
    "adds_up": bool(ledger["adds_up"].all()),
    "batches": int(ledger["batches"].sum()),
    "hashes": {entry.source.split("/")[-2] + "/" + entry.source.split("/")[-1]: entry.sha256 for entry in entries},
    "kinds": {" ".join(index): int(count) for index, count in kinds["records"].items()},
    "groups": {name: int(count) for name, count in groups["records"].items()},
    "drawn": int(per_bin.to_numpy().sum()),
}"""

pytestmark = pytest.mark.notebook


def objects(corpus: Path, formatter: str) -> list[Any]:
    """What Kafka's JSON formatter printed: objects without anything between them."""
    decoder = json.JSONDecoder()
    found = []
    for path in sorted((corpus / "oracle").glob(f"{formatter}-formatter-[0-9]*.txt")):
        text, at = path.read_text(), 0
        while at < len(text):
            value, at = decoder.raw_decode(text, at)
            found.append(value)
    return found


def dumped(corpus: Path, pattern: str) -> int:
    """How many lines of Kafka's dump of the segments begin like this."""
    dumps = (corpus / "oracle").glob("dump-log-offsets-decoder-*[0-9].txt")
    return sum(len(re.findall(f"^{pattern}", path.read_text(), re.MULTILINE)) for path in dumps)


def test_nothing_is_stored_with_it() -> None:
    """No outputs, no counts, nothing of whoever ran it last."""
    notebook = nbformat.read(NOTEBOOKS / NAME, as_version=4)
    nbformat.validate(notebook)
    cells = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert all(cell.outputs == [] and cell.execution_count is None for cell in cells)
    assert set(notebook.metadata) == {"kernelspec", "language_info"}


def test_it_agrees_with_kafka() -> None:
    """Batches as kafka-dump-log counts them, commits and groups as the formatters print them, hashes as recorded."""
    facts, notebook = execute(NAME, FACTS)
    corpus = CORPORA / "4.3.1-classic"
    commits, groups = objects(corpus, "offsets"), objects(corpus, "group-metadata")
    assert facts["adds_up"]
    assert facts["batches"] == dumped(corpus, "baseOffset: ")
    assert facts["summary"]["records"] == dumped(corpus, r"\| offset: ") == len(commits) + len(groups)
    assert facts["kinds"] == {
        "OffsetCommit value": sum(item["value"] is not None for item in commits),
        "OffsetCommit tombstone": sum(item["value"] is None for item in commits),
        "GroupMetadata value": sum(item["value"] is not None for item in groups),
        "GroupMetadata tombstone": sum(item["value"] is None for item in groups),
    }
    written = [item["key"]["data"]["group"] for item in commits + groups]
    assert facts["groups"] == {group: written.count(group) for group in written}
    assert facts["summary"]["busiest group"] == max(facts["groups"], key=written.count)
    assert facts["drawn"] == facts["summary"]["commits"] == facts["kinds"]["OffsetCommit value"]
    recorded = json.loads((corpus / "manifest.json").read_text())["files"]
    assert facts["hashes"] == {name: recorded[f"segments/{name}"]["sha256"] for name in facts["hashes"]}
    assert len(outputs(notebook, "image/png")) == 1


def transactional(corpus: Path) -> int:
    """Records that Kafka's dump has in transactional batches, markers aside."""
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
    facts, notebook = execute(NAME, FACTS)
    assert facts["adds_up"]
    assert facts["summary"]["files"] == len(list(evidence.rglob("*.log")))
    assert commits_in_transactions in (None, facts["summary"]["commits in a transaction"])
    assert facts["drawn"] == facts["summary"]["commits"]
    shown = outputs(notebook, "text/plain") + outputs(notebook, "text/html")
    assert not any(str(evidence) in text for text in shown)
