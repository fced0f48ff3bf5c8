"""What the reading of evidence tells whoever asked, while it lasts: notes of one sentence, and how far it has come.

The caller gives the listener and decides what becomes of both. Nothing here prints.
"""

from typing import Protocol


class Listener(Protocol):
    """Hears notes and progress while evidence is read."""

    def note(self, text: str) -> None:
        """Take one sentence for the person who asked."""

    def begin(self, size: int) -> None:
        """Take the number of bytes that there are to read."""

    def advance(self, size: int) -> None:
        """Take the number of bytes that were read since."""

    def end(self) -> None:
        """Learn that all is read; may come more than once."""


class Silent:
    """A listener for programs: the notes stay in `Evidence.notes`, and nobody waits for progress."""

    def note(self, text: str) -> None:
        """Let the sentence pass."""

    def begin(self, size: int) -> None:
        """Let the number pass."""

    def advance(self, size: int) -> None:
        """Let the number pass."""

    def end(self) -> None:
        """Let it pass."""
