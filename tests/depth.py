"""How deep a run of the tests goes: `make deep` sets OFFSETS_TOOL_DEEP, and may name a folder of more corpora."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Final, TypeVar

DEEP: Final = bool(os.environ.get("OFFSETS_TOOL_DEEP"))
"""Whether every case is run, with many examples: without it, samples are."""

Case = TypeVar("Case")

ELSEWHERE: Final = (
    Path(os.environ["OFFSETS_TOOL_CORPORA"]) if os.environ.get("OFFSETS_TOOL_CORPORA") else None
)
"""A folder of the shape of fixtures/corpora, whose corpora are taken beside ours."""


def sample(cases: Sequence[Case], every: int) -> Sequence[Case]:
    """Return all cases in `make deep`, and otherwise the first and every `every`-th after it."""
    return cases if DEEP else cases[::every]
