"""The question that several copies of a log are asked: what the coordinator would have answered, or what happened.

It refuses options that exclude each other. Knows no copies.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from offsets_tool.errors import UsageError
from offsets_tool.log.copies.views import CopiesView


@dataclass(frozen=True, slots=True)
class CopiesAsked:
    """The view that is asked for, and by log partition the name of the copy that led at the moment."""

    view: CopiesView = CopiesView.COORDINATOR
    leaders: Mapping[int, str] = field(default_factory=dict)

    @classmethod
    def of(cls, view: str, leaders: Mapping[int, str] | None = None) -> "CopiesAsked":
        """Return what a view, by its name, and leaders ask.

        UsageError for a view that is none, and for leaders where all copies are asked alike.
        """
        names = [each.value for each in CopiesView]
        if view not in names:
            raise UsageError(f"view: {view!r} is none; choose {' or '.join(names)}")
        if leaders and view == CopiesView.EVIDENCE:
            raise UsageError(
                "--view evidence asks all copies alike: drop --leader, or take --view coordinator"
            )
        return cls(CopiesView(view), dict(leaders or {}))


COPIES_ASKED: Final = CopiesAsked()
