"""What went wrong with real brokers is found, and what did not is not: fixtures/incidents, each with what must be found in it."""

from pathlib import Path
from typing import Final

import pytest

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
