"""Everything that is printed of some bytes, through the lane and without it, to be compared."""

from collections.abc import Iterator
from typing import NamedTuple

from offsets_tool.cli.texts import json_line, json_text
from offsets_tool.columns.lane.chunks import Chunk, Lane
from offsets_tool.columns.lane.interned import InternedKeys
from offsets_tool.columns.printing import PrintedFile, SegmentPrinter, Selection
from offsets_tool.dialects import formatter
from offsets_tool.dialects.dump_log.segment import DumpLog
from offsets_tool.dialects.output import NOTHING, Output, Printer
from offsets_tool.events import decode
from offsets_tool.evidence.event_json import event_json
from offsets_tool.log.batches.batch import read_content
from offsets_tool.log.batches.limits import LIMITS
from offsets_tool.log.batches.walk import Walker
from offsets_tool.log.ledger import Ledger
from offsets_tool.log.names import Segment
from offsets_tool.records.kinds import COMMITS
from offsets_tool.rows import Batch, BatchRead, LogRecord, Unreadable

SEGMENT = Segment(path="some/place-7/0.log", log_partition=3)


class Dialect(NamedTuple):
    """A way to print, and how it is called."""

    name: str
    printer: Printer
    dump: DumpLog | None = None

    def __str__(self) -> str:
        return self.name

    def shown(self, item: BatchRead | Unreadable) -> Iterator[Output]:
        """Yield what the reference prints of an item."""
        if self.dump is not None:
            yield from self.dump.show(item)
        elif isinstance(item, BatchRead):
            yield from map(self.printer.record, item.records)


def json_lines() -> Dialect:
    def line(record: LogRecord) -> Output:
        return Output(json_line(event_json(decode(record))))

    return Dialect("json", Printer(line, lambda text: json_text(text)[1:-1]))


def formatted(name: str, release: str) -> Dialect:
    made = formatter(name, release)

    def show(record: LogRecord) -> Output:
        return NOTHING if record.is_control else made.format(record)

    return Dialect(f"{name}-{release}", Printer(show, made.text))


def dumped(release: str) -> Dialect:
    dump = DumpLog("x.log", release, base_offset=0)
    return Dialect(f"dump-log-{release}", Printer(dump.record, dump.text, dump.batch), dump)


class Print(NamedTuple):
    """Text and errors, the last of them those of the dump's end; how many records the lane printed, how many it did not."""

    text: bytes
    errors: list[str]
    in_lane: int = 0
    by_caller: int = 0
    commits_alone: int = 0
    """Of those, commits and their tombstones that decode without a problem, whose batch the lane has read."""


def by_reference(data: bytes, dialect: Dialect) -> Print:
    view, outputs = memoryview(data), []
    for item in Walker(view, "s", verify=dialect.dump is None).walk():
        if isinstance(item, Batch):
            read = read_content(
                view, item, SEGMENT.source, SEGMENT.log_partition, verify=dialect.dump is None
            )
            outputs += dialect.shown(read)
        else:
            outputs += dialect.shown(item)
    return _print(outputs, dialect)


class LanePrinter:
    """Prints files one after another by one dialect, as a command does; a dump dialect gets a single file."""

    def __init__(self, dialect: Dialect, selection: Selection | None = None) -> None:
        self._dialect = dialect
        self._printer = SegmentPrinter(dialect.printer, selection)
        self._interned = InternedKeys()

    def print(self, data: bytes) -> Print:
        view, ledger, outputs = memoryview(data), Ledger("s"), []
        passed = self._dialect.dump.passed if self._dialect.dump else None
        file = PrintedFile(view, SEGMENT, ledger, LIMITS, passed, {})
        lane = Lane(
            view,
            SEGMENT.source,
            SEGMENT.log_partition,
            self._interned,
            verify=self._dialect.dump is None,
        )
        by_caller = commits_alone = 0
        for item in lane.read():
            for piece in self._printer.print(item, file) if isinstance(item, Chunk) else (item,):
                if isinstance(piece, memoryview):
                    outputs.append(Output(bytes(piece)))
                elif isinstance(piece, LogRecord):
                    outputs.append(self._dialect.printer.record(piece))
                    by_caller += 1
                    event = decode(piece)
                    commits_alone += (
                        event.problem is None and event.type_id in COMMITS and not piece.is_control
                    )
                else:
                    outputs += self._dialect.shown(piece)
                    by_caller += len(piece.records) if isinstance(piece, BatchRead) else 0
        entry = ledger.entry()
        return _print(outputs, self._dialect)._replace(
            in_lane=entry.decoded_records + entry.control_records,
            by_caller=by_caller,
            commits_alone=commits_alone,
        )


def _print(outputs: list[Output], dialect: Dialect) -> Print:
    if dialect.dump is not None:
        outputs += dialect.dump.end()
    errors = [output.error for output in outputs if output.error is not None]
    return Print(b"".join(output.text for output in outputs), errors)


def assert_same(data: bytes, make: "Dialect | str") -> Print:
    """Assert that the lane prints the same as the reference, and return what it prints."""
    dialects = [_made(make), _made(make)]
    theirs, ours = by_reference(data, dialects[0]), LanePrinter(dialects[1]).print(data)
    assert ours.text == theirs.text
    assert ours.errors == theirs.errors
    return ours


def _made(make: "Dialect | str") -> Dialect:
    """Return a new dialect for each reading, because a dump remembers offsets."""
    if isinstance(make, Dialect):
        return make
    name, _, release = make.partition("@")
    if name == "json":
        return json_lines()
    return dumped(release) if name == "dump-log" else formatted(name, release)
