"""The names nearest to a mistyped one, as they are shown: a cheap look at all there are, a careful one at the best of these."""

from collections.abc import Collection, Iterable
from difflib import SequenceMatcher
from heapq import nlargest
from typing import Final

from offsets_tool.wire.text import shown

_CAREFULLY: Final = 200
"""Names that are compared letter by letter."""
_MANY: Final = 50_000
"""Up to this many names are all looked at; of more, those that begin or end with the same letter."""
_LONG: Final = 100
"""Letters of a name that are looked at."""
_LIKE: Final = 0.6
"""difflib's own idea of what looks alike."""


def nearest(text: str, names: Collection[str], count: int = 3) -> list[str]:
    """Return the names most similar to the text, best first, none if none is similar; of a pattern, the signs are ignored."""
    asked = _plain("".join(c for c in text if c not in "*?[]"))
    if not asked:
        return []
    pairs = {asked[at : at + 2] for at in range(max(len(asked) - 1, 1))}
    best = nlargest(
        _CAREFULLY,
        ((_shared(pairs, len(asked), _plain(shown(name))), name) for name in _looked_at(asked, names)),
    )
    rated = ((_likeness(asked, _plain(shown(name))), name) for shared, name in best if shared)
    return [name for rate, name in nlargest(count, rated) if rate >= _LIKE]


def did_you_mean(text: str, names: Collection[str]) -> str:
    """Return the sentence ` Did you mean X or Y?` with the names that look like the text; nothing where none does."""
    found = nearest(text, names, 2)
    return f" Did you mean {' or '.join(found)}?" if found else ""


def _looked_at(asked: str, names: Collection[str]) -> Iterable[str]:
    if len(names) <= _MANY:
        return names
    first, last = ((letter, letter.upper()) for letter in (asked[0], asked[-1]))
    return (name for name in names if name.startswith(first) or name.endswith(last))


def _plain(name: str) -> str:
    return name[:_LONG].strip().casefold()


def _shared(pairs: set[str], length: int, name: str) -> float:
    """Return how similar a name is: the pairs of neighbouring letters that it contains, less for another length than `length`."""
    return sum(map(name.__contains__, pairs)) / (1 + abs(len(name) - length) / 4)


def _likeness(asked: str, name: str) -> float:
    # Part of a longer name, as a name without its prefix.
    is_part = min(len(asked), len(name)) > 2 and (asked in name or name in asked)
    return max(SequenceMatcher(None, asked, name, autojunk=False).ratio(), _LIKE if is_part else 0)
