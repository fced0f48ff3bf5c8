"""Listeners hear of the reading of evidence while it lasts: notes of one sentence, and progress.

The caller passes a listener and decides what becomes of both. Nothing here prints.
"""

from typing import Protocol


class Listener(Protocol):
    """Hears notes and progress while evidence is read."""

    def note(self, text: str) -> None:
        """Hear a note: one sentence for the person who asked."""

    def begin(self, size: int) -> None:
        """Hear that reading begins, of `size` bytes in all."""

    def advance(self, size: int) -> None:
        """Hear that `size` more bytes were read."""

    def end(self) -> None:
        """Hear that everything is read; this may come more than once."""


class Silent:
    """A listener for programs: the notes stay in `Evidence.notes`, and nobody waits for progress."""

    def note(self, text: str) -> None:
        """Ignore the note."""

    def begin(self, size: int) -> None:
        """Ignore the progress."""

    def advance(self, size: int) -> None:
        """Ignore the progress."""

    def end(self) -> None:
        """Ignore the end."""
