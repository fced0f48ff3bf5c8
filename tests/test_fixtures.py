"""The evidence in fixtures/ is what was recorded: hashes as in the manifests, no trace of the machine it was made on."""

import hashlib
import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from offsets_tool.events import decode
from offsets_tool.log.segment import read_segment
from offsets_tool.rows import BatchRead
from tests.corpora import CORPORA, FIXTURES, SAMPLE

MANIFESTS = sorted(
    path for pattern in ("corpora*", "incidents") for path in FIXTURES.glob(f"{pattern}/*/manifest.json")
)
WORDS = ("story.md", "expected.json")
"""What is written beside the evidence of an incident, and held against its declaration where findings are tested."""
BUDGET = 12 << 20
HOME_OF_A_MACHINE = re.compile(rb"/(?:root|home|work|tmp|Users|var/lib)/[\w.]")


@pytest.mark.parametrize("manifest", MANIFESTS, ids=lambda path: path.parent.name)
def test_nothing_was_edited(manifest: Path) -> None:
    """Every file that the manifest knows and that is here has the bytes that the manifest says."""
    recorded = json.loads(manifest.read_text())["files"]
    here = {
        path.relative_to(manifest.parent).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in manifest.parent.rglob("*")
        if path.is_file() and path != manifest and path.name not in WORDS
    }
    assert here == {name: recorded[name]["sha256"] for name in here}
    assert any(name.endswith(".log") for name in here)


@pytest.mark.parametrize("kind", ["corpora", "corpora-replicated", "incidents"])
def test_every_corpus_is_described(kind: str) -> None:
    """The README's section of each kind says of every folder with a manifest what it is for; copies of brokers all have one."""
    (section,) = re.findall(rf"^## {kind}/$(.*?)^## ", (FIXTURES / "README.md").read_text(), re.M | re.S)
    described = set()
    for row in section.splitlines():
        if row.startswith("| `"):
            names = re.findall(r"`([^`]+)`", row.split("|")[1])
            described |= {name if name[0] != "-" else names[0].split("-")[0] + name for name in names}
    folders = {path.name for path in (FIXTURES / kind).iterdir()}
    with_manifest = {path.parent.name for path in MANIFESTS if path.parent.parent.name == kind}
    assert described == with_manifest and (kind == "corpora" or with_manifest == folders)


def test_no_paths_of_a_machine_and_small() -> None:
    """Nobody's directories are in it, and a clone stays small."""
    files = [path for path in FIXTURES.rglob("*") if path.is_file()]
    assert [path for path in files if HOME_OF_A_MACHINE.search(path.read_bytes())] == []
    assert sum(path.stat().st_size for path in files) < BUDGET


def test_the_sample_has_everything_that_any_corpus_has() -> None:
    """What tests see that take a sample: each line of releases, format of batches, codec, and layout of a value."""
    of_each = {path.name: set(_facets(path)) for path in CORPORA.iterdir() if (path / "segments").is_dir()}
    assert set(SAMPLE) <= of_each.keys()
    sampled = set().union(*(of_each[name] for name in SAMPLE))
    assert {name: facets - sampled for name, facets in of_each.items() if facets - sampled} == {}


def _facets(corpus: Path) -> Iterator[tuple[object, ...]]:
    first, second, *_ = corpus.name.split(".")
    yield (first, second) if first == "0" else (first,)
    for log in corpus.glob("segments/*/*.log"):
        for read in read_segment(log):
            assert isinstance(read, BatchRead)
            yield read.batch.magic, read.batch.codec, read.batch.timestamp_type
            for event in map(decode, read.records):
                if event.key is not None:
                    yield event.key.type.id, event.value and event.value[:2]
