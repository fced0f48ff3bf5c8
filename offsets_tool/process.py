"""How Python runs in processes of this toolkit: how often it looks for cycles of unused objects, and what Arrow does not load."""

import gc
import sys
from functools import cache
from typing import Final

_AFTER: Final = 2_000_000
"""So many more objects are there before Python looks, by default 700: more than a chunk of rows makes, which are gone behind it."""


def collect_seldom() -> None:
    """Make Python look seldom for cycles of unused objects: for processes that replay, not for libraries.

    What replay makes has no cycles, and looking through it takes up to a third of its time.
    """
    gc.set_threshold(_AFTER)


def freeze_modules() -> None:
    """Make Python never look for cycles in what modules hold that are loaded by now: for workers, which end with them.

    PySpark looks through all objects after each task. Through those of Arrow and Numba that takes longer than a small task.
    """
    _frozen(len(sys.modules))


@cache
def _frozen(_modules: int) -> None:
    gc.collect()
    gc.freeze()


class _NoPandas:
    """A finder of modules that says that pandas is not installed, and leaves all others to those behind it."""

    @staticmethod
    def find_spec(name: str, _path: object = None, _target: object = None) -> None:
        """Raise ModuleNotFoundError for pandas."""
        if name == "pandas":
            raise ModuleNotFoundError("pandas is left out of this process", name=name)


def leave_out_pandas() -> None:
    """Make Python find no pandas from here on: for processes that have no use for it, not for libraries.

    Where pandas is installed, Arrow loads it to make its first array or scalar, of whatever; that takes a quarter of a second.
    """
    if _NoPandas not in sys.meta_path:
        sys.meta_path.insert(0, _NoPandas)
