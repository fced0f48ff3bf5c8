"""What was done in a corpus, and which kinds of findings tell it: from the story of its manifest, never from its log.

A deed names the group that it was done to. What a broker refused is no deed; transactions that nobody ended are one.
"""

import json
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

Story = Mapping[str, Any]

KINDS_OF: Final[Mapping[str, frozenset[str]]] = {
    r"group deleted \(DeleteGroups\)$|^DeleteGroups$|^(share|streams) group deleted$": frozenset(
        {"group_deleted"}
    ),
    r"^offsets deleted \(OffsetDelete\)$|^OffsetDelete": frozenset({"offsets_deleted"}),
    r"--reset-offsets .*--execute": frozenset({"reset", "rewind"}),
    r"second member with the same .*is fenced": frozenset({"static_member_replaced"}),
    r"^member vanished without LeaveGroup$|^member killed \(SIGKILL\)$": frozenset({"member_timed_out"}),
    r"^transaction left to the timeout$": frozenset({"transaction_timed_out"}),
    r"^second producer with the same .*transaction is aborted": frozenset({"transaction_fenced"}),
    r"downgrade to classic$|upgrade to consumer$": frozenset({"group_converted"}),
}
"""By what a story says, the kinds of which one must be found."""
MAY_TELL: Final[Mapping[str, frozenset[str]]] = {
    r"^alter(Consumer|Share)GroupOffsets|^admin alter|--reset-offsets": frozenset(
        {"reset", "rewind", "jump"}
    ),
    r"^(raw member joins|streams instance|static member closed|python client$)": frozenset(
        {"member_timed_out"}
    ),
}
"""Deeds that leave something to find only where an offset stood before, or if a member that never leaves is stopped."""
_ENDED: Final = (
    r"^commitTransaction$|^abortTransaction$|^(commit|abort|end of) \S+-tx|^transaction left to the timeout$"
    r"|^second producer with the same"
)


class Deed(NamedTuple):
    """What was done to a group, and the kinds of findings that show it; `must` is False where none need appear."""

    group: str
    kinds: frozenset[str]
    what: str
    must: bool = True


def story_of(corpus: Path) -> list[Story]:
    """Return the steps of a corpus's story; none where the corpus has none with it."""
    manifest = corpus / "manifest.json"
    steps: list[Story] = json.loads(manifest.read_text())["story"] if manifest.is_file() else []
    return steps


def deeds_of(story: Iterable[Story]) -> Iterator[Deed]:
    """Yield what was done, and at the end the transactions that nobody ended."""
    sent: dict[str, set[str]] = defaultdict(set)
    still_open: dict[str, set[str]] = {}
    for step in story:
        what, producer = step["what"], _producer(step)
        if what.startswith("sendOffsetsToTransaction") and producer:
            sent[producer].add(step["group"])
            still_open.setdefault(producer, set()).add(step["group"])
        if producer and re.search(_ENDED, what):
            still_open.pop(producer, None)
        named = _group(step)
        for group in sent.get(producer or "", set()) if named is None else {named}:
            yield from _deeds(step, group)
    for producer, groups in still_open.items():
        for group in groups:
            yield Deed(
                group, frozenset({"hanging_transaction"}), f"nobody ended the transaction of {producer}"
            )


def _deeds(step: Story, group: str) -> Iterator[Deed]:
    for must, table in ((True, KINDS_OF), (False, MAY_TELL)):
        for said, kinds in table.items():
            if re.search(said, step["what"]) and not _is_refused(step):
                yield Deed(group, kinds, step["what"], must)


def _group(step: Story) -> str | None:
    """Return the group that a step names: itself, by the application's id, or as an argument of a client's command."""
    mode, *arguments = step.get("args") or [""]
    if mode == "raw-join":
        return str(arguments[0])
    if mode == "member" and "group.instance.id" in str(arguments):
        return str(arguments[1])
    return step.get("group") or step.get("application_id")


def _producer(step: Story) -> str | None:
    return step.get("transactional_id") or next(iter(re.findall(r"(\S+-tx)\b", step["what"])), None)


def _is_refused(step: Story) -> bool:
    """Return whether the broker refused all of a step, whose answer is [[group, code], ...] or [code, {partition: code}]."""
    match step.get("result"):
        case [_, dict() as by_partition]:
            return all(by_partition.values()) and bool(by_partition)
        case [[_, int() as code], *_]:
            return code != 0
        case _:
            return False
