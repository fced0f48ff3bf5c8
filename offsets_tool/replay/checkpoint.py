"""A coordinator at a position of its log, as bytes and back: replay from there is replay from the start.

With its History, if there is one. JSON in ASCII, compressed by gzip, whose checksum tells damage: nothing that runs when it is
read, wherever it lay. Knows nothing about files.
"""

import gzip
import json
import zlib
from typing import Final, NamedTuple

from offsets_tool.errors import DecodeError, SourceError
from offsets_tool.replay.changes import GroupOf, MemberOf
from offsets_tool.replay.coordinator import Coordinator
from offsets_tool.replay.history import History, Memory
from offsets_tool.replay.owners import NameOf
from offsets_tool.replay.packing import (
    Json,
    pack_change,
    pack_row,
    pack_state,
    pack_subject,
    unpack_change,
    unpack_row,
    unpack_state,
    unpack_subject,
)
from offsets_tool.replay.rules import Rules
from offsets_tool.replay.state import State
from offsets_tool.wire.json import uuid_text

VERSION: Final = 1

_FORMAT: Final = "offsets-tool checkpoint"
_LEVEL: Final = 1
_REMEDY: Final = "replay the log from its start without it, and save it again"


class Checkpoint(NamedTuple):
    """A coordinator that has replayed all below `position`, an offset of its log partition, and nothing from there on."""

    coordinator: Coordinator
    position: int
    history: History | None = None
    """What History made of the same records, if it was saved too."""


def save(coordinator: Coordinator, position: int, history: History | None = None) -> bytes:
    """The coordinator and where it goes on."""
    body = {
        "format": _FORMAT,
        "version": VERSION,
        "position": position,
        "log_partition": coordinator.log_partition,
        "rules": coordinator.rules,
        "auto": coordinator.auto,
        "proved_at": coordinator.proved_at,
        "differed_at": coordinator.differed_at,
        **pack_state(coordinator.state),
        "history": None if history is None else _packed_history(history.memory()),
    }
    text = json.dumps(body, separators=(",", ":")).encode("ascii")
    return gzip.compress(text, _LEVEL, mtime=0)


def restore(data: bytes, source: str = "checkpoint", name_of: NameOf = uuid_text) -> Checkpoint:
    """What `save` was given. SourceError, with `source` as the path, for what this release did not save or what is damaged."""
    body = _body(data, source)
    try:
        coordinator = _coordinator(body)
        packed = body["history"]
        history = None if packed is None else History(name_of, _memory(packed, coordinator.state))
        return Checkpoint(coordinator, int(body["position"]), history)
    except (DecodeError, LookupError, AttributeError, TypeError, ValueError) as error:
        reason = f"a checkpoint whose content is not what its version says ({error}); {_REMEDY}"
        raise SourceError(source, reason) from error


def _body(data: bytes, source: str) -> dict[str, Json]:
    try:
        body = json.loads(gzip.decompress(data))
    except (OSError, EOFError, zlib.error, ValueError) as error:
        raise SourceError(source, f"not a checkpoint, or a damaged one ({error}); {_REMEDY}") from error
    if not isinstance(body, dict) or body.get("format") != _FORMAT:
        raise SourceError(source, f"JSON, but not a checkpoint; {_REMEDY}")
    if body.get("version") != VERSION:
        told = f"a checkpoint of version {body.get('version')}; this release knows {VERSION}"
        raise SourceError(source, f"{told}: {_REMEDY}")
    return body


def _coordinator(body: dict[str, Json]) -> Coordinator:
    rules = Rules(body["rules"])
    made = Coordinator(body["log_partition"], None if body["auto"] else rules, unpack_state(body))
    made.rules, made.proved_at, made.differed_at = rules, body["proved_at"], body["differed_at"]
    return made


def _packed_history(memory: Memory) -> Json:
    return {
        "open": [[pack_subject(subject), pack_row(row)] for subject, row in memory.open.items()],
        "batch": [pack_change(change) for change in memory.batch],
        "made": [[pack_subject(subject), pack_row(row)] for subject, row in memory.made.items()],
        "next_offset": memory.next_offset,
        "after_gap": memory.after_gap,
        "owners": pack_state(memory.owners) if _is_ahead(memory) else None,
    }


def _is_ahead(memory: Memory) -> bool:
    """Whether the coordinator knows of groups or members what History has not taken in yet."""
    return any(isinstance(change.subject, GroupOf | MemberOf) for change in memory.batch)


def _memory(body: Json, now: State) -> Memory:
    owners = State(groups=dict(now.groups), members={of: dict(there) for of, there in now.members.items()})
    return Memory(
        open={unpack_subject(subject): unpack_row(row) for subject, row in body["open"]},
        batch=[unpack_change(row) for row in body["batch"]],
        made={unpack_subject(subject): unpack_row(row) for subject, row in body["made"]},
        next_offset=body["next_offset"],
        after_gap=body["after_gap"],
        owners=owners if body["owners"] is None else unpack_state(body["owners"]),
    )
