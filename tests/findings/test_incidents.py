"""What went wrong with real brokers is found, and what did not is not: fixtures/incidents, each with what must be found in it."""

import json
from pathlib import Path
from typing import Final

import pytest
from click.testing import CliRunner

from offsets_tool.cli import main
from offsets_tool.findings.finders import kinds
from tests.corpora import INCIDENTS
from tests.incidents.catalogue import catalogue
from tests.incidents.expectations import unmet
from tests.incidents.words import words

_FOLDERS: Final = sorted(INCIDENTS.iterdir())
_DECLARED: Final = catalogue()


@pytest.mark.parametrize("folder", _FOLDERS, ids=lambda path: path.name)
def test_what_must_be_found_is_and_what_must_not_is_not(folder: Path) -> None:
    not_met = unmet(folder)
    assert not not_met, "\n".join(not_met)


def test_each_incident_that_is_declared_is_there() -> None:
    assert _DECLARED.keys() == {folder.name for folder in _FOLDERS}


@pytest.mark.parametrize("folder", _FOLDERS, ids=lambda path: path.name)
def test_its_words_are_those_of_its_declaration(folder: Path) -> None:
    """If not: `python -m tests.incidents --words --into fixtures/incidents`."""
    for name, text in words(_DECLARED[folder.name], folder).items():
        assert (folder / name).read_text() == text


@pytest.mark.parametrize("name", _DECLARED)
def test_it_names_kinds_that_there_are(name: str) -> None:
    """What no finder can find is not there either where it must not be."""
    expected = (*_DECLARED[name].must, *_DECLARED[name].must_not)
    named = [kind for each in expected if (kind := each.get("kind")) is not None]
    assert {kind for each in named for kind in ([each] if isinstance(each, str) else each)} <= kinds().keys()


def test_a_loss_of_which_several_causes_fit_names_them_all() -> None:
    """Without the broker's retention of a minute the group may as well have been deleted."""
    folder = str(INCIDENTS / "weekend-skipped")
    done = CliRunner().invoke(main, ["findings", folder, "--group", "billing", "--format", "jsonl"])
    lost = next(row for row in map(json.loads, done.stdout.splitlines()) if row["severity"] == "critical")
    assert lost["confidence"] == "ambiguous" and "retention" in lost["alternatives"]
    assert "perhaps somebody deleted the group, or " in lost["title"] and "or they expired" in lost["title"]
    assert lost["remedy"].endswith("they often tell such causes apart.")
