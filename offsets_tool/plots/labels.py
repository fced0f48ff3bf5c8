"""Names as pictures show them: visible, of a bounded length, and two different names never alike.

Names come from clients and may hold anything: markup, characters that turn the direction of writing, a megabyte. They stand in
pictures only as values of data and as titles, never as the name of a field or as an expression.
"""

from typing import Final

from offsets_tool.wire.text import in_cell, shown, visible

LONGEST: Final = 36
"""Characters of a name in a picture."""
_LONGEST_TEXT: Final = 220
_HEAD: Final = 22
"""Of a longer name, as many from its beginning are shown; and of its end what fits beside them."""
_ELLIPSIS: Final = "…"


def elided(name: str, longest: int = LONGEST) -> str:
    """Return a name as pictures show it: invisible characters escaped, and the middle of a long name left out."""
    head, tail = longest * _HEAD // LONGEST, longest - longest * _HEAD // LONGEST - 1
    if len(name) <= longest:
        text = in_cell(visible(shown(name)))
    else:
        text = f"{visible(shown(name[:head]))}{_ELLIPSIS}{visible(shown(name[-tail:]))}"
    return text if len(text) <= longest else f"{text[:head]}{_ELLIPSIS}{text[-tail:]}"


def shortened(text: str) -> str:
    """Return a sentence as pictures show it: invisible characters escaped, and cut where it is long."""
    made = visible(shown(text[: _LONGEST_TEXT + 1]))
    return made if len(made) <= _LONGEST_TEXT else made[: _LONGEST_TEXT - 1] + _ELLIPSIS


class Labels:
    """Gives each name a label of its own; names that would look alike get different labels."""

    def __init__(self) -> None:
        self._by_name: dict[str, str] = {}
        self._given: dict[str, int] = {}

    def label(self, name: str) -> str:
        """Return the label of a name; a later name that would look like an earlier one gets a number behind it."""
        found = self._by_name.get(name)
        if found is None:
            text = elided(name)
            times = self._given[text] = self._given.get(text, 0) + 1
            found = self._by_name[name] = text if times == 1 else f"{text} ({times})"
        return found
