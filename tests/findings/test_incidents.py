"""What went wrong with real brokers is found, and what did not is not: fixtures/incidents, each with what must be found in it."""

from pathlib import Path
from typing import Final

import pytest

from tests.corpora import INCIDENTS
from tests.incidents.catalogue import catalogue
from tests.incidents.expectations import unmet
from tests.incidents.words import words

_FOLDERS: Final = sorted(INCIDENTS.iterdir())
_DECLARED: Final = catalogue()
MISSED: Final[dict[str, int]] = {}
"""How many expectations of an incident are not met yet."""


@pytest.mark.parametrize("folder", _FOLDERS, ids=lambda path: path.name)
def test_what_must_be_found_is_and_what_must_not_is_not(folder: Path) -> None:
    not_met = unmet(folder)
    assert len(not_met) == MISSED.get(folder.name, 0), "\n".join(not_met)


def test_each_incident_that_is_declared_is_there() -> None:
    assert _DECLARED.keys() == {folder.name for folder in _FOLDERS}


@pytest.mark.parametrize("folder", _FOLDERS, ids=lambda path: path.name)
def test_its_words_are_those_of_its_declaration(folder: Path) -> None:
    """If not: `python -m tests.incidents --words --into fixtures/incidents`."""
    for name, text in words(_DECLARED[folder.name], folder).items():
        assert (folder / name).read_text() == text
