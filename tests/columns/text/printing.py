"""Everything that is printed of some bytes, through the lane and without it, to be compared."""

from collections.abc import Iterator
from typing import NamedTuple

from offsets_tool.cli.texts import json_line
from offsets_tool.columns.lane.chunks import Chunk, Lane
from offsets_tool.columns.lane.interned import InternedKeys
from offsets_tool.columns.text.request import Printer, Selection
from offsets_tool.columns.text.writer import TextWriter
from offsets_tool.dialects import formatter
from offsets_tool.dialects.dump_log.segment import DumpLog
from offsets_tool.dialects.output import NOTHING, Output
from offsets_tool.events import decode
from offsets_tool.evidence.event_json import event_json
from offsets_tool.log.batches.batch import read_content
from offsets_tool.log.batches.walk import Walker
from offsets_tool.log.ledger import Ledger
from offsets_tool.log.names import Segment
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
    return Dialect("json", Printer(lambda record: Output(json_line(event_json(decode(record))))))


def formatted(name: str, release: str) -> Dialect:
    made = formatter(name, release)

    def show(record: LogRecord) -> Output:
        return NOTHING if record.is_control else made.format(record)

    return Dialect(f"{name}-{release}", Printer(show))


def dumped(release: str) -> Dialect:
    dump = DumpLog("x.log", release, base_offset=0)
    return Dialect(f"dump-log-{release}", Printer(dump.record, dump.batch), dump)


class Print(NamedTuple):
    """Text and errors, the last of them those of the dump's end; how many records the lane printed, how many it did not."""

    text: bytes
    errors: list[str]
    in_lane: int = 0
    by_caller: int = 0


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
        self._writer = TextWriter(dialect.printer, selection)
        self._interned = InternedKeys()

    def print(self, data: bytes) -> Print:
        view, ledger, outputs = memoryview(data), Ledger("s"), []
        passed = self._dialect.dump.passed if self._dialect.dump else None
        writer = self._writer.file(view, SEGMENT, ledger, passed)
        lane = Lane(
            view,
            SEGMENT.source,
            SEGMENT.log_partition,
            self._interned,
            verify=self._dialect.dump is None,
        )
        by_caller = 0
        for item in lane.read():
            for piece in writer.write(item) if isinstance(item, Chunk) else (item,):
                if isinstance(piece, memoryview):
                    outputs.append(Output(bytes(piece)))
                elif isinstance(piece, LogRecord):
                    outputs.append(self._dialect.printer.record(piece))
                    by_caller += 1
                else:
                    outputs += self._dialect.shown(piece)
                    by_caller += len(piece.records) if isinstance(piece, BatchRead) else 0
        entry = ledger.entry()
        return _print(outputs, self._dialect)._replace(
            in_lane=entry.decoded_records + entry.control_records, by_caller=by_caller
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
