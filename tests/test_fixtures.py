"""The evidence in fixtures/ is what was recorded: hashes as in the manifests, no trace of the machine it was made on."""

import hashlib
import json
import re
from pathlib import Path

import pytest

from tests.cases import FIXTURES

MANIFESTS = sorted(FIXTURES.glob("corpora*/*/manifest.json"))
BUDGET = 12 << 20
HOME_OF_A_MACHINE = re.compile(rb"/(?:root|home|work|tmp|Users|var/lib)/[\w.]")


@pytest.mark.parametrize("manifest", MANIFESTS, ids=lambda path: path.parent.name)
def test_nothing_was_edited(manifest: Path) -> None:
    """Every file that the manifest knows and that is here has the bytes that the manifest says."""
    recorded = json.loads(manifest.read_text())["files"]
    here = {
        path.relative_to(manifest.parent).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in manifest.parent.rglob("*")
        if path.is_file() and path != manifest
    }
    assert here == {name: recorded[name]["sha256"] for name in here}
    assert any(name.endswith(".log") for name in here)


@pytest.mark.parametrize("kind", ["corpora", "corpora-replicated"])
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
