"""One JVM that stays: compiles the oracle's Java once, starts it, and carries frames of questions to it and answers back.

Knows the frame, not what is asked. The frame is described in java/oracle/Oracle.java.
"""

import hashlib
import shutil
import subprocess
import tempfile
import time
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from itertools import islice
from pathlib import Path
from struct import Struct

from offsets_tool.errors import SetupError
from oracle.jars import KAFKA, NEWEST, kafka_jars
from spark.runtime.jars import cache
from spark.runtime.java import java

Fields = Sequence[bytes | None]

SOURCES = Path(__file__).parent / "java"
CASES_A_FRAME = 10_000
FRAMES_AHEAD = 2
INT = Struct(">i")
NULL = INT.pack(-1)


class OracleError(Exception):
    """The oracle could not be asked: a release or class that it does not have, or a JVM that has ended."""


class Jvm:
    """The process; `ask` puts cases to it in frames, the next one under way while it answers the last."""

    def __init__(self, *options: str) -> None:
        classes = _classes()
        self._newest = classes / "newest"
        self._open = ExitStack()
        self._stderr = self._open.enter_context(tempfile.TemporaryFile())  # noqa: SIM115 (the stack closes it)
        quiet = "-Dorg.slf4j.simpleLogger.defaultLogLevel=off"
        command = [str(java()), *options, "-Xmx1g", quiet, "-cp", str(classes / "oracle"), "oracle.Oracle"]
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._stderr
        )
        self._releases: set[str] = set()

    def ask(self, words: Sequence[str], cases: Iterable[Fields]) -> list[tuple[bytes | None, ...]]:
        """The answers, one a case and in their order. `words` are the command, the release, and what the command takes besides."""
        self._know(words[1])
        return self._exchange(words, cases)

    def cpu_seconds(self) -> float:
        """CPU time of all its threads until now. Linux: the clock of another process is made of its id (clock_getcpuclockid)."""
        return time.clock_gettime(~self._process.pid << 3 | 2)

    def close(self) -> None:
        """End the JVM, which stops when its input is closed."""
        assert self._process.stdin and self._process.stdout
        self._process.stdin.close()
        self._process.wait(timeout=60)
        self._process.stdout.close()
        self._open.close()

    def _know(self, version: str) -> None:
        if version in self._releases:
            return
        if version not in KAFKA:
            raise OracleError(f"no jars are named for Kafka {version}: {', '.join(KAFKA)} are")
        paths = [str(path) for path in kafka_jars(KAFKA[version])]
        if version == NEWEST:
            paths.append(f"{self._newest}/")
        self._exchange(("release", version, *paths), [()])
        self._releases.add(version)

    def _exchange(self, words: Sequence[str], cases: Iterable[Fields]) -> list[tuple[bytes | None, ...]]:
        head = _fields([word.encode() for word in words])
        answers: list[tuple[bytes | None, ...]] = []
        under_way: deque[int] = deque()
        waiting = iter(cases)
        while some := list(islice(waiting, CASES_A_FRAME)):
            self._send(head + INT.pack(len(some)) + b"".join(map(_fields, some)))
            under_way.append(len(some))
            if len(under_way) >= FRAMES_AHEAD:
                under_way.popleft()
                answers.extend(self._receive())
        for _ in under_way:
            answers.extend(self._receive())
        return answers

    def _send(self, frame: bytes) -> None:
        assert self._process.stdin
        try:
            self._process.stdin.write(INT.pack(len(frame)) + frame)
            self._process.stdin.flush()
        except BrokenPipeError as gone:
            raise self._gone() from gone

    def _receive(self) -> Iterator[tuple[bytes | None, ...]]:
        assert self._process.stdout
        length = self._process.stdout.read(4)
        if len(length) < 4:
            raise self._gone()
        frame = self._process.stdout.read(INT.unpack(length)[0])
        answers = _cases(frame)
        if frame[0]:
            thrown, message = next(answers)
            raise OracleError(f"{(thrown or b'').decode()}: {(message or b'').decode()}")
        return answers

    def _gone(self) -> OracleError:
        self._stderr.seek(0)
        return OracleError(
            "the oracle's JVM is gone; it said: " + self._stderr.read().decode(errors="replace")[-2000:]
        )


def _fields(fields: Fields) -> bytes:
    parts = [INT.pack(len(fields))]
    for field in fields:
        parts.append(NULL if field is None else INT.pack(len(field)) + field)
    return b"".join(parts)


def _cases(frame: bytes) -> Iterator[tuple[bytes | None, ...]]:
    """The cases of an answer, after its flag."""
    unpack = INT.unpack_from
    at = 5
    for _ in range(unpack(frame, 1)[0]):
        fields: list[bytes | None] = []
        count = unpack(frame, at)[0]
        at += 4
        for _ in range(count):
            length = unpack(frame, at)[0]
            at += 4
            fields.append(None if length < 0 else frame[at : at + length])
            at += max(length, 0)
        yield tuple(fields)


def _classes() -> Path:
    """Return the folder of the compiled oracle, compiled again whenever its sources or the newest release change."""
    sources = sorted(SOURCES.rglob("*.java"))
    identity = hashlib.sha256(KAFKA[NEWEST].list_name.encode())
    for source in sources:
        identity.update(source.read_bytes())
    made = cache() / "oracle" / identity.hexdigest()[:16]
    if made.is_dir():
        return made
    made.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=made.parent) as staging:
        _compile(Path(staging) / "made", sources)
        if not made.is_dir():
            (Path(staging) / "made").rename(made)
    return made


def _compile(into: Path, sources: list[Path]) -> None:
    libraries = ":".join(str(path) for path in kafka_jars(KAFKA[NEWEST]))
    newest = [str(source) for source in sources if "newest" in source.parts]
    rest = [str(source) for source in sources if "newest" not in source.parts]
    for folder, classpath, files in (
        ("oracle", "", rest),
        ("newest", f"{into / 'oracle'}:{libraries}", newest),
    ):
        (into / folder).mkdir(parents=True)
        options = [
            "--release",
            "17",
            "-encoding",
            "UTF-8",
            "-nowarn",
            "-cp",
            classpath,
            "-d",
            str(into / folder),
        ]
        subprocess.run([_javac(), *options, *files], check=True)


def _javac() -> str:
    beside = java().resolve().with_name("javac")
    found = str(beside) if beside.exists() else shutil.which("javac")
    if found is None:
        raise SetupError(
            "The tests need a JDK, and only a runtime was found. On Debian: apt-get install openjdk-17-jdk-headless."
        )
    return found
