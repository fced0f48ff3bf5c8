"""How often Python looks for cycles of unused objects, in processes of this toolkit."""

import gc
from typing import Final

_AFTER: Final = 500_000
"""So many new objects are made before Python looks; by default 700."""


def collect_seldom() -> None:
    """Make Python look seldom for cycles of unused objects: for processes that replay, not for libraries.

    What replay makes has no cycles, and looking through it takes up to a third of its time.
    """
    gc.set_threshold(_AFTER)
