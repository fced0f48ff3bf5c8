"""Logs with an offset to go back to, each with what a plan makes of it: one table for all checks of plans.

Records are a second apart from 1970-01-01T00:00:01Z on, so that `at` is the number of the last record that counts, from 0.
"""

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple
from uuid import UUID

from tests.replay.stories import streams
from tests.replay.story import (
    StoryRecord,
    commit,
    group_metadata,
    group_tombstone,
    member,
    tombstone,
    tombstone_of,
    txn_commit,
)
from tests.replay.story_segments import Placed, in_order, write_log

ONE, OTHER = UUID(int=1), UUID(int=2)
UNSAYABLE = ("", "a\nb", "nul\0", "\udcff")
LATER = 1_700_000_000_000 + 30_000


class PlanCase(NamedTuple):
    """A log, the last record before the moment, and for each row of the plan its action, offsets and risks."""

    name: str
    written: tuple[StoryRecord, ...] | Callable[[Path], object]
    at: int
    rows: tuple[tuple[str, int | None, int | None, tuple[str, ...]], ...]
    """Action, current offset, new offset, names of risks; by group, topic and partition."""
    options: tuple[str, ...] = ()
    ends: str = ""
    starts: str = ""

    def __str__(self) -> str:
        return self.name

    def write(self, folder: Path) -> None:
        """Write the log, and files of ends, into a folder."""
        if callable(self.written):
            self.written(folder)
        else:
            write_log(folder, in_order(*self.written))
        for name, text in (("ends.txt", self.ends), ("starts.txt", self.starts)):
            if text:
                (folder / name).write_text(text)

    def asked(self, folder: Path) -> list[str]:
        """The arguments of the command."""
        files = [("--ends", "ends.txt", self.ends), ("--log-starts", "starts.txt", self.starts)]
        named = [word for option, name, text in files if text for word in (option, str(folder / name))]
        return ["plan", str(folder), "--as-of", str(1_000 * (self.at + 1)), *named, *self.options]


def damaged(folder: Path) -> None:
    """Write a log whose first batch is misplaced."""
    written = in_order(commit("h", "t", 0, 1), commit("g", "t", 0, 5), commit("g", "t", 0, 9))
    log = write_log(folder, written) / f"{0:020}.log"
    log.write_bytes(b"\x80" + log.read_bytes()[1:])


def compacted(folder: Path) -> None:
    """Write a log that compaction left without records 0 to 3: one of them had the commit of partition 0 at the moment."""
    placed = [Placed(4, 4_000, commit("g", "t", 1, 5)), Placed(5, 5_000, commit("g", "t", 0, 9))]
    write_log(folder, placed)


BUSY = group_metadata("g", 1, member("m", client_id="app"))
EMPTY = group_metadata("g", 2)
MOVED = (BUSY, commit("g", "t", 0, 5), commit("g", "t", 0, 9), EMPTY)
SINCE = ("simple_client", "read_on")

CASES = (
    PlanCase("nothing has changed", (commit("g", "t", 0, 5),), 0, (("keep", 5, 5, ()),)),
    PlanCase("members read on", MOVED, 1, (("reset", 9, 5, ("read_on",)),)),
    PlanCase("there are members", MOVED[:3], 1, (("reset", 9, 5, ("has_members", "read_on")),)),
    PlanCase(
        "a client that never joins",
        (commit("g", "t", 0, 5), commit("g", "t", 0, 9)),
        0,
        (("reset", 9, 5, SINCE),),
    ),
    PlanCase(
        "somebody set it",
        (BUSY, commit("g", "t", 0, 50), EMPTY, commit("g", "t", 0, 0)),
        1,
        (("reset", 0, 50, ("set_since",)),),
    ),
    PlanCase(
        "a member went back",
        (BUSY, commit("g", "t", 0, 50), commit("g", "t", 0, 0), commit("g", "t", 0, 9), EMPTY),
        1,
        (("reset", 9, 50, ("moved_since",)),),
    ),
    PlanCase(
        "somebody deleted it",
        (BUSY, commit("g", "t", 0, 5), commit("g", "t", 1, 6), EMPTY, tombstone("g", "t", 0)),
        2,
        (("reset", None, 5, ("deleted_since",)), ("keep", 6, 6, ())),
    ),
    PlanCase(
        "somebody deleted it, or its topic",
        (BUSY, commit("g", "t", 0, 5), commit("g", "u", 0, 6), EMPTY, tombstone("g", "t", 0)),
        2,
        (("reset", None, 5, ("topic_in_doubt",)), ("keep", 6, 6, ())),
    ),
    PlanCase(
        "it expired",
        (
            group_metadata("g", 2, current_state_timestamp=1_000),
            commit("g", "t", 0, 5, commit_timestamp=1_000),
            *(commit("h", "u", 0, 1) for _ in range(70)),
            tombstone("g", "t", 0),
            group_tombstone("g"),
        ),
        1,
        (("reset", None, 5, ("expires_soon", "expired_since")),),
        ("--retention", "1m", "--check-interval", "1s", "--kafka-version", "3.9", "--group", "g"),
    ),
    PlanCase(
        "nobody knows what took it",
        (
            commit("g", "t", 0, 5, commit_timestamp=1_000),
            commit("h", "t", 0, 6, commit_timestamp=1_000),
            tombstone("g", "t", 0),
            commit("h", "t", 0, 6),
        ),
        1,
        (("reset", None, 5, ("lost_since",)), ("keep", 6, 6, ())),
        ("--kafka-version", "0.10.1", "--retention", "7d"),
    ),
    PlanCase(
        "the group has been empty for long",
        (
            group_metadata("g", 2, current_state_timestamp=1_000),
            commit("g", "t", 0, 5, commit_timestamp=1_000),
            commit("g", "t", 0, 9, commit_timestamp=LATER),
            *(commit("h", "u", 0, 1) for _ in range(70)),
        ),
        1,
        (("reset", 9, 5, ("expires_soon", "set_since")),),
        ("--retention", "1m", "--kafka-version", "3.9", "--group", "g"),
    ),
    PlanCase(
        "nothing was committed, or nobody was there",
        (commit("g", "t", 0, 5), commit("g", "t", 1, 6), commit("new", "t", 1, 7)),
        0,
        (("keep", 5, 5, ()), ("leave", 6, None, ("not_committed",)), ("leave", 7, None, ("created_since",))),
    ),
    PlanCase(
        "a transaction is open",
        (commit("g", "t", 0, 5), commit("g", "t", 0, 9), txn_commit(7, "g", "t", 0, 11)),
        0,
        (("reset", 9, 5, ("pending_transaction", *SINCE)),),
    ),
    PlanCase(
        "the topic was created again",
        (commit("g", "t", 0, 5, topic_id=ONE), commit("g", "t", 0, 9, topic_id=OTHER)),
        0,
        (("leave", 9, 5, ("topic_recreated",)),),
    ),
    PlanCase(
        "the topic was created again, and the old number committed for it",
        (commit("g", "t", 0, 5, topic_id=ONE), commit("g", "t", 0, 5, topic_id=OTHER)),
        0,
        (("leave", 5, 5, ("topic_recreated",)),),
    ),
    PlanCase(
        "the topic was deleted, and the old number committed again",
        (
            *(commit(group, topic, 0, 5) for group in "gh" for topic in "tu"),
            *(tombstone(group, "t", 0) for group in "gh"),
            commit("g", "t", 0, 5),
        ),
        3,
        (
            ("leave", 5, 5, ("topic_recreated",)),
            ("keep", 5, 5, ()),
            ("leave", None, 5, ("topic_deleted",)),
            ("keep", 5, 5, ()),
        ),
    ),
    PlanCase(
        "what stands is beyond the end",
        (commit("g", "t", 0, 50), commit("g", "t", 1, 50), commit("g", "u", 0, 1)),
        0,
        (
            ("leave", 50, 50, ("above_end",)),
            ("leave", 50, None, ("not_committed",)),
            ("leave", 1, None, ("not_committed",)),
        ),
        ends="t:0:20\nt:1:20\n",
    ),
    PlanCase(
        "the topic was deleted",
        (
            commit("g", "t", 0, 5),
            commit("h", "t", 0, 6),
            commit("g", "u", 0, 7),
            commit("h", "u", 0, 8),
            tombstone("g", "t", 0),
            tombstone("h", "t", 0),
        ),
        3,
        (
            ("leave", None, 5, ("topic_deleted",)),
            ("keep", 7, 7, ()),
            ("leave", None, 6, ("topic_deleted",)),
            ("keep", 8, 8, ()),
        ),
        ("--kafka-version", "3.9", "--retention", "7d"),
    ),
    PlanCase("compaction took it", compacted, 3, (("leave", 9, None, ("unproven",)), ("keep", 5, 5, ()))),
    PlanCase(
        "no file can say it",
        (
            *(commit(group, "t", 0, 5) for group in UNSAYABLE),
            commit("g", "t", 0, -1),
            *(commit(group, "t", 0, 9) for group in UNSAYABLE),
            commit("g", "t", 0, 4),
        ),
        4,
        (
            *(("leave", 9, 5, ("not_expressible",)),) * 2,
            ("leave", 4, None, ("not_committed",)),
            *(("leave", 9, 5, ("not_expressible",)),) * 2,
        ),
    ),
    PlanCase(
        "a streams group that was deleted",
        (
            streams.epoch(1),
            commit("foo", "t", 0, 5),
            tombstone("foo", "t", 0),
            tombstone_of(streams.EPOCH),
        ),
        1,
        (("leave", None, 5, ("other_tool",)),),
    ),
    PlanCase(
        "a streams group",
        (
            streams.epoch(1),
            streams.joined("m1"),
            commit("foo", "t", 0, 5),
            commit("foo", "t", 0, 9),
        ),
        2,
        (("leave", 9, 5, ("other_tool",)),),
    ),
    PlanCase(
        "its records are gone",
        MOVED,
        1,
        (("reset", 9, 5, ("below_log_start", "read_on")),),
        ends="t:0:20\n",
        starts="t:0:7\n",
    ),
    PlanCase("the log is shorter now", MOVED, 1, (("leave", 9, 5, ("above_end",)),), ends="t:0:4\n"),
    PlanCase(
        "a client's text",
        (BUSY, commit("g", "t", 0, 5, metadata="stream time"), commit("g", "t", 0, 9), EMPTY),
        1,
        (("reset", 9, 5, ("read_on", "metadata_lost")),),
    ),
    PlanCase("the log is damaged", damaged, 1, (("reset", 9, 5, ("damaged_log",)),)),
)
