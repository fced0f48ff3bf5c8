"""What became of every committed offset of a corpus, from what was done to it: the story of the manifest, never its log.

An action of a client has a cause that it leaves behind (ACTIONS); what no action took, the broker's own rule took, going by how it
was committed and by whether its group had members then. Written without a look at what explains it.
"""

import json
import re
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

from tests.corpora import every_corpus

KINDS: Final = ("expiry", "classic", "mix", "txn", "kip848", "newgroups")

RETENTION, EXPIRE_TIMESTAMP, UNSUBSCRIBED = "retention", "expire_timestamp", "unsubscribed_topic"
OFFSETS_DELETED, GROUP_DELETED, TOPIC_DELETED = "offsets_deleted", "group_deleted", "topic_deleted"
ABORTED, SUPERSEDED = "aborted", "superseded"

UNSUBSCRIBED_FROM: Final = (2, 4)
"""KIP-496: before it, what a group with members no longer reads was kept."""
SOON_MS: Final = 4_000
"""How far a tombstone may stand from the action that asked for it; of several that could have, the nearest did."""

Story = Mapping[str, Any]
Where = tuple[str, str, int]


class Deed(NamedTuple):
    """An action that takes offsets: of a group (None: of any), of all or some partitions (None: all), of a topic (None: of any)."""

    at: int
    cause: str
    group: str | None = None
    topic: str | None = None
    partitions: frozenset[tuple[str, int]] | None = None

    def takes(self, where: Where, at: int) -> bool:
        """Return whether this action caused a tombstone for this offset at this time."""
        group, topic, partition = where
        return (
            abs(at - self.at) <= SOON_MS
            and self.group in (None, group)
            and self.topic in (None, topic)
            and (self.partitions is None or (topic, partition) in self.partitions)
        )


class Commit(NamedTuple):
    """A commit, and whether it has its own time to expire."""

    at: int
    where: Where
    explicit: bool


class Presence(NamedTuple):
    """From when on a group had members, and what topics they asked for; empty from when they had left."""

    at: int
    group: str
    topics: frozenset[str]


def _partitions(texts: Iterable[str]) -> frozenset[tuple[str, int]]:
    return frozenset((text.rpartition("-")[0].strip(), int(text.rpartition("-")[2])) for text in texts)


def _deleted_offsets(step: Story) -> Deed:
    if "result" in step:
        done = [name for name, error in step["result"][1].items() if error == 0]
    else:
        done = step["partitions"].strip("[]").split(",")
    return Deed(step["at_ms"], OFFSETS_DELETED, step["group"], partitions=_partitions(done))


def _deleted_group(step: Story) -> Deed:
    return Deed(step["at_ms"], GROUP_DELETED, step["group"])


def _deleted_topic(step: Story) -> Deed:
    topic = step["topic"] if "topic" in step else step["what"].removeprefix("delete topic ")
    return Deed(step["at_ms"], TOPIC_DELETED, topic=topic)


ACTIONS: Final[Mapping[str, Callable[[Story], Deed]]] = {
    r"DeleteGroups$": _deleted_group,
    r"group deleted \(DeleteGroups\)$": _deleted_group,
    r"streams group deleted$": _deleted_group,
    r"OffsetDelete": _deleted_offsets,
    r"offsets deleted \(OffsetDelete\)$": _deleted_offsets,
    r"delete topic ": _deleted_topic,
    r"topic deleted$": _deleted_topic,
}
"""What a story says was done, and which offsets went by it. All other steps delete nothing."""


def _commits(step: Story, old: bool) -> Iterable[Commit]:
    """Yield the commits of a step; a time from the client counts as explicit where the value keeps it."""
    args = step.get("args", ())
    if args and args[0] == "raw-commit":
        _, group, topic, partition, _, _, retention = args
        yield Commit(step["at_ms"], (group, topic, int(partition)), retention != "-1")
        return
    explicit = step.get("retention", -1) != -1 or (not old and step.get("ts", -1) != -1)
    offsets = step.get("offsets", ())
    pairs = (
        [(topic, int(partition)) for topic, each in offsets.items() for partition in each]
        if isinstance(offsets, Mapping)
        else [(topic, partition) for topic, partition, *_ in offsets]
    )
    yield from (Commit(step["at_ms"], (step["group"], *pair), explicit) for pair in pairs)


def _presence(step: Story) -> Presence | None:
    """Return the members that a step of the corpora on expiry implies, whose groups have one member; None for other steps."""
    what, at = step["what"], step["at_ms"]
    if what == "member starts":
        return Presence(at, step["group"], frozenset(step["topics"]))
    if joined := re.match(r"member \w+ joins \(.*\) on (.*)$", what):
        return Presence(at, step["group"], frozenset(joined[1].split(",")))
    if re.match(r"(raw )?member( \w+)? leaves$", what):
        return Presence(at, step["group"], frozenset())
    if what in ("group became Empty", "group reached state") and step.get("members", 0) == 0:
        return Presence(at, step["group"], frozenset())
    return None


class Truth:
    """One corpus. `release`, `retention_ms` and `check_interval_ms` are the broker's."""

    def __init__(self, corpus: Path) -> None:
        manifest = json.loads((corpus / "manifest.json").read_text())
        config = manifest["config"]
        self.name = corpus.name
        self.kafka_version: str = manifest["kafka_version"]
        self.release = tuple(int(number) for number in self.kafka_version.split("."))
        self.retention_ms = _minutes(config, self.release) * 60_000
        self.check_interval_ms = int(config.get("offsets.retention.check.interval.ms", 600_000))
        story = [step for step in manifest["story"] if "at_ms" in step]
        self.deeds = [
            deed(step) for step in story for said, deed in ACTIONS.items() if re.match(said, step["what"])
        ]
        old = self.release < (0, 9)
        self.commits = [commit for step in story for commit in _commits(step, old)]
        self.presences = [presence for step in story if (presence := _presence(step)) is not None]
        self.aborted = {where for where, at in _ended(story, _ABORTS) if not self._is_taken(where, at)}
        self.superseded = {where for where, _ in _ended(story, _OVERTAKEN)}

    def cause(self, group: str, topic: str, partition: int, at: int | None) -> str:
        """Return why an offset got its tombstone at this time; None: the log has no times, and its story no deed."""
        where = (group, topic, partition)
        deeds = [] if at is None else [deed for deed in self.deeds if deed.takes(where, at)]
        if at is not None and deeds:
            return min(deeds, key=lambda deed: abs(at - deed.at)).cause
        assert at is not None or not self.deeds
        commits = [each for each in self.commits if each.where == where and (at is None or each.at < at)]
        if commits and (commits[-1].explicit if at is not None else commits[0].explicit):
            return EXPIRE_TIMESTAMP
        return UNSUBSCRIBED if at is not None and self._is_unsubscribed(group, topic, at) else RETENTION

    def _is_taken(self, where: Where, at: int) -> bool:
        """Return whether an action removed a pending commit before its abort, as with the new coordinator."""
        return self.release >= (4, 0) and any(deed.takes(where, at) and deed.at < at for deed in self.deeds)

    def _is_unsubscribed(self, group: str, topic: str, at: int) -> bool:
        if self.release < UNSUBSCRIBED_FROM:
            return False
        topics = [each.topics for each in self.presences if each.group == group and each.at < at]
        return bool(topics and topics[-1] and topic not in topics[-1])


def _minutes(config: Mapping[str, str], release: tuple[int, ...]) -> int:
    """Return `offsets.retention.minutes`, by default a day until 1.1 and a week since 2.0."""
    default = 1_440 if release < (2, 0) else 10_080
    return int(config.get("offsets.retention.minutes", default))


_OVERTAKEN: Final = (r"commit \S+ after a later plain commit$",)
_ABORTS: Final = (
    r"abortTransaction$",
    r"abort (\S+)$",
    r"transaction left to the timeout$",
    r"second producer with the same",
)


def _ended(story: Iterable[Story], endings: Iterable[str]) -> set[tuple[Where, int]]:
    """Return the offsets sent in transactions that ended in one of these ways, with the time."""
    open_: dict[str, set[Where]] = {}
    ended: set[tuple[Where, int]] = set()
    for step in story:
        producer = _producer(step)
        if producer is None:
            continue
        if step["what"].startswith("sendOffsetsToTransaction"):
            open_.setdefault(producer, set()).update(each.where for each in _commits(step, False))
        elif any(re.match(ending, step["what"]) for ending in endings):
            ended |= {(where, step["at_ms"]) for where in open_.pop(producer, set())}
        elif re.match(r"commit|end of", step["what"]):
            open_.pop(producer, None)
    return ended


def _producer(step: Story) -> str | None:
    named = re.search(r"(\S+-tx)\b", step["what"])
    name: str | None = step.get("transactional_id") or (named[1] if named else None)
    return name


def corpora() -> list[Path]:
    """Return the corpora of this run whose stories are about expiry and removal of offsets."""
    return [path for path in every_corpus() if path.name.rpartition("-")[2] in KINDS]
