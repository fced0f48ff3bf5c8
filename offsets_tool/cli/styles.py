"""Style texts bold or in colour where the terminal and the user want it; styles only repeat what words say.

NO_COLOR takes every escape away; FORCE_COLOR gives them to a pipe too, as rich does. A file of --output never has any.
"""

import os
import re
import sys
from typing import BinaryIO, Final, NamedTuple

_BOLD: Final = "1"
_SEVERITIES: Final = {"critical": "1;31", "warning": "1;33", "notice": "36"}
"""The colours are the terminal's own sixteen, which its user has made readable on the background."""
_SEVERITY: Final = re.compile(rf"({'|'.join(_SEVERITIES)})S?\b", re.IGNORECASE)
_DUMB: Final = ("dumb", "unknown")


class Pen(NamedTuple):
    """Writes texts bold or in colour, or leaves them as they are."""

    is_on: bool

    def heading(self, text: str) -> str:
        """Return a heading, bold if this pen styles."""
        return self._styled(text, _BOLD)

    def severity(self, text: str) -> str:
        """Return a text in which a severity, if it is the first word, is coloured."""
        found = _SEVERITY.match(text)
        if found is None:
            return text
        return self._styled(found[0], _SEVERITIES[found[1].lower()]) + text[found.end() :]

    def _styled(self, text: str, code: str) -> str:
        return f"\x1b[{code}m{text}\x1b[0m" if self.is_on else text


PLAIN: Final = Pen(False)
"""The pen that styles nothing."""


def pen_for(out: BinaryIO) -> Pen:
    """Return the pen for what is written to `out`: one that styles nothing unless it is a stdout that shows colours."""
    return Pen(is_stdout(out) and _shows_colours())


def is_stdout(out: BinaryIO) -> bool:
    """Return whether `out` is this process's stdout, and no file of --output."""
    return out is getattr(sys.stdout, "buffer", None)


def _shows_colours() -> bool:
    if os.environ.get("NO_COLOR") or os.environ.get("TERM", "").lower() in _DUMB:
        return False
    forced = os.environ.get("FORCE_COLOR")
    return sys.stdout.isatty() if forced is None else forced != ""
