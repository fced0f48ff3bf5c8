"""A checkpoint: a coordinator at a position of its log as bytes and back; replay from there equals replay from the start.

Saved with it, if given, are the observers of the same records. The bytes are two lines of JSON in ASCII, and behind them what
relations carry besides (relations.carried), which is read there. They are compressed by gzip, whose checksum reveals damage;
reading them runs nothing, wherever they lay. The first line is short and can be read alone. Knows nothing about files.
"""

import gzip
import io
import json
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO, Final, NamedTuple

from offsets_tool.errors import DecodeError, SourceError
from offsets_tool.expiry.lifetimes import Lifetimes
from offsets_tool.expiry.log_facts import LogFacts
from offsets_tool.expiry.removal_codec import pack_lifetimes, unpack_lifetimes
from offsets_tool.history.history import History, HistoryState
from offsets_tool.history.json_codec import (
    Packed,
    pack_row,
    pack_state,
    pack_subject,
    unpack_row,
    unpack_state,
    unpack_subject,
)
from offsets_tool.history.owners import NameOf
from offsets_tool.replay.coordinator import Coordinator
from offsets_tool.replay.rules import Rules
from offsets_tool.replay.state import State
from offsets_tool.wire.json import uuid_text

VERSION: Final = 11
READ: Final = (VERSION,)
"""The versions that are read: up to 10 committed offsets were saved otherwise."""

_FORMAT: Final = "offsets-tool checkpoint"
_LEVEL: Final = 1
_REMEDY: Final = "replay the log from its start without it, and save it again"


class Observers(NamedTuple):
    """What observed the same records as the coordinator and is saved with it: history, log facts, and facts for expiry."""

    history: History
    """With rows of groups and members alone, and none that waits for the end of a batch."""
    log_facts: LogFacts
    lifetimes: Lifetimes
    """Of the committed offsets that the coordinator has."""
    changed: dict[str, int]
    """When each group last changed, epoch milliseconds."""


class Checkpoint(NamedTuple):
    """A coordinator that has replayed all below `position`, an offset of its log partition, and nothing from there on."""

    coordinator: Coordinator
    position: int
    observers: Observers | None = None
    """None if they were not saved."""
    offsets: bytes = b""
    """What relations carry, and neither the coordinator nor an observer (relations.carried)."""


def save(coordinator: Coordinator, position: int, observers: Observers | None = None) -> bytes:
    """Return the coordinator, the position at which it goes on, and the observers as the bytes of a checkpoint."""
    return seal(position, observers and observers.log_facts, packed(coordinator, observers), b"")


def packed(coordinator: Coordinator, observers: Observers | None) -> str:
    """Return the coordinator and its observers, but for the facts of the log, as JSON that later changes leave as it is."""
    body = {
        "log_partition": coordinator.log_partition,
        "rules": coordinator.rules,
        "auto": coordinator.auto,
        "proved_at": coordinator.proved_at,
        "differed_at": coordinator.differed_at,
        **pack_state(coordinator.state),
        "history": observers and _packed_history(observers.history.saved_state()),
        "removals": observers
        and {
            "lifetimes": pack_lifetimes(observers.lifetimes, coordinator.state),
            "changed": observers.changed,
        },
    }
    return json.dumps(body, separators=(",", ":"))


def seal(position: int, log_facts: LogFacts | None, body: str, offsets: bytes = b"") -> bytes:
    """Return the bytes of a checkpoint at a position, whose `body` is what `packed` returned."""
    head = {
        "format": _FORMAT,
        "version": VERSION,
        "position": position,
        "log_facts": log_facts and log_facts.pack(),
    }
    lines = f"{json.dumps(head, separators=(',', ':'))}\n{body}\n"
    return gzip.compress(lines.encode("ascii") + offsets, _LEVEL, mtime=0)


def restore(data: bytes, source: str = "checkpoint", name_of: NameOf = uuid_text) -> Checkpoint:
    """Return the checkpoint from which `save` made these bytes; `source` is their path, for messages.

    `name_of` returns names of topic ids. SourceError if the bytes are damaged, or of another release's version.
    """
    with _reading(source):
        lines = io.BytesIO(gzip.decompress(data))
        head = _head(lines.readline(), source)
        body = json.loads(lines.readline())
    with understanding(source):
        coordinator = _coordinator(body)
        observers = _observers(head, body, coordinator, name_of) if head["log_facts"] is not None else None
        return Checkpoint(coordinator, int(head["position"]), observers, lines.read())


def read_log_facts(data: IO[bytes], source: str) -> LogFacts | None:
    """Return the facts of the log from the first line of a checkpoint alone; None if it has none.

    SourceError, with `source` as the path, if that line is damaged, or of another release's version.
    """
    with _reading(source), gzip.GzipFile(fileobj=data) as lines:
        head = _head(lines.readline(), source)
    with understanding(source):
        return None if head["log_facts"] is None else LogFacts.unpack(head["log_facts"])


@contextmanager
def _reading(source: str) -> Iterator[None]:
    try:
        yield
    except SourceError:
        raise
    except (OSError, EOFError, zlib.error, RecursionError, ValueError) as error:
        raise SourceError(source, f"not a checkpoint, or a damaged one ({error}); {_REMEDY}") from error


@contextmanager
def understanding(source: str) -> Iterator[None]:
    """Within this, a content of another shape than a checkpoint of this version has is a SourceError; `source` is the path."""
    try:
        yield
    except (
        DecodeError,
        LookupError,
        AttributeError,
        OverflowError,
        RecursionError,
        TypeError,
        ValueError,
    ) as error:
        reason = f"a checkpoint whose content is not what its version says ({error}); {_REMEDY}"
        raise SourceError(source, reason) from error


def _head(line: bytes, source: str) -> dict[str, Packed]:
    head = json.loads(line)
    if not isinstance(head, dict) or head.get("format") != _FORMAT:
        raise SourceError(source, f"JSON, but not a checkpoint; {_REMEDY}")
    if head.get("version") not in READ:
        version = f"a checkpoint of version {head.get('version')}; this release knows {' and '.join(map(str, READ))}"
        raise SourceError(source, f"{version}: {_REMEDY}")
    return head


def _observers(
    head: dict[str, Packed], body: dict[str, Packed], coordinator: Coordinator, name_of: NameOf
) -> Observers:
    now, removals = coordinator.state, body["removals"]
    return Observers(
        History(name_of, _history_state(body["history"], now)),
        LogFacts.unpack(head["log_facts"]),
        unpack_lifetimes(removals["lifetimes"], now),
        removals["changed"],
    )


def _coordinator(body: dict[str, Packed]) -> Coordinator:
    rules = Rules(body["rules"])
    made = Coordinator(body["log_partition"], None if body["auto"] else rules, unpack_state(body))
    made.rules, made.proved_at, made.differed_at = rules, body["proved_at"], body["differed_at"]
    return made


def _packed_history(saved: HistoryState) -> Packed:
    return {
        "open": [[pack_subject(subject), pack_row(row)] for subject, row in saved.open.items()],
        "next_offset": saved.next_offset,
        "after_gap": saved.after_gap,
    }


def _history_state(body: Packed, now: State) -> HistoryState:
    return HistoryState(
        open={unpack_subject(subject): unpack_row(row) for subject, row in body["open"]},
        next_offset=body["next_offset"],
        after_gap=body["after_gap"],
        owners=now.of_groups(),
    )
