"""Members of groups as a story handles them: applications in processes of their own, and Kafka's console consumers.

Each ends with the story, by a clean leave where it still can.
"""

import json
import signal
import subprocess
import sys
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from select import select
from types import TracebackType
from typing import Any, Self

ANSWERS_WITHIN = 60.0
ROOT = Path(__file__).parents[2]


class MemberError(Exception):
    """A member did not do what it was told; the message ends with its last words."""


class Member:
    """A process that is a member of a group; leaves when the block ends."""

    def __init__(self, name: str, command: list[str], words: Path, *, is_stuck: bool = False) -> None:
        self.name = name
        self._words = words
        with words.open("wb") as said:
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE if is_stuck else subprocess.DEVNULL,
                stderr=said,
                cwd=ROOT,
            )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.end()

    def __str__(self) -> str:
        ended = "is running" if self.is_running else f"has ended with {self._process.returncode}"
        return f"{self.name} {ended}: {self.words()}"

    @property
    def is_running(self) -> bool:
        """Return whether the process is running."""
        return self._process.poll() is None

    def leave(self) -> None:
        """Let it leave its group and end, as SIGTERM does to a console consumer."""
        self._process.terminate()
        self._wait()

    def kill(self) -> None:
        """End it by SIGKILL: it does not leave its group."""
        self._process.kill()
        self._wait()

    def freeze(self) -> None:
        """Stop the process as a long pause of its virtual machine does: not even a heartbeat goes out."""
        self._process.send_signal(signal.SIGSTOP)

    def thaw(self) -> None:
        """Let a frozen process go on."""
        self._process.send_signal(signal.SIGCONT)

    def read_on(self) -> None:
        """Read what a process has printed, and all that it prints from now on, so that it is stuck no longer."""
        assert self._process.stdout
        subprocess.Popen(["cat"], stdin=self._process.stdout, stdout=subprocess.DEVNULL)

    def end(self) -> None:
        """End the process in whatever state it is."""
        if self.is_running:
            self._process.kill()
            self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe:
                pipe.close()

    def words(self) -> str:
        """Return what the process wrote to stderr."""
        return self._words.read_text(errors="replace")[-4000:]

    def _wait(self) -> None:
        try:
            self._process.wait(ANSWERS_WITHIN)
        except subprocess.TimeoutExpired as late:
            raise MemberError(f"{self.name} does not end: {self.words()}") from late


class ApplicationMember(Member):
    """A member run by tests/incidents/application.py, which takes commands."""

    def __init__(self, name: str, settings: Mapping[str, Any], words: Path) -> None:
        command = [sys.executable, "-m", "tests.incidents.application", json.dumps(settings)]
        super().__init__(name, command, words, is_stuck=True)

    def send(self, do: str, **what: object) -> None:
        """Send a command without waiting for its answer."""
        assert self._process.stdin
        self._process.stdin.write(json.dumps({"do": do, **what}).encode() + b"\n")
        self._process.stdin.flush()

    def answer(self, within: float = ANSWERS_WITHIN) -> dict[str, Any]:
        """Return the next line that the process prints, parsed. MemberError where it prints nothing, or has ended."""
        assert self._process.stdout
        ready, _, _ = select([self._process.stdout], [], [], within)
        line = self._process.stdout.readline() if ready else b""
        if not line:
            raise MemberError(f"{self.name} does not answer: {self.words()}")
        answer: dict[str, Any] = json.loads(line)
        return answer

    def ask(self, do: str, **what: object) -> dict[str, Any]:
        """Send a command and return its answer."""
        self.send(do, **what)
        return self.answer()

    def owned(self) -> list[list[Any]]:
        """Return topic and partition of each partition that the member is assigned."""
        assigned: list[list[Any]] = self.ask("tell")["assigned"]
        return assigned

    def leave(self) -> None:
        """Let it leave its group and end."""
        self.ask("leave")
        self._wait()

    def end(self) -> None:
        """Let the member leave its group if it still can, and end its process if it does not."""
        if self.is_running:
            assert self._process.stdin
            self._process.stdin.close()
            with suppress(subprocess.TimeoutExpired):
                self._process.wait(5)
        super().end()
