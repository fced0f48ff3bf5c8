"""Why a group rebalanced, by the lines that its coordinator wrote: the truth that no record of the log has."""

import re
from collections import defaultdict
from pathlib import Path
from typing import Final, NamedTuple

_CLASSIC: Final = re.compile(
    r"Preparing to rebalance group (\S+) .*with old generation (\d+).*\(reason: (.*)\)"
)
_EPOCHS: Final = re.compile(r"\[GroupId ([^\]]+)\] (.*)")
_BUMP: Final = re.compile(r"Bumped (?:share |streams )?group epoch to (\d+)")

REASONS: Final = (
    ("adding new member", {"member_joined"}),
    ("heartbeat expiration", {"session_expired"}),
    ("leavegroup", {"member_left"}),
    ("downgrade", {"group_converted"}),
    ("need to revoke partitions", {"partitions_given_up"}),
    ("subscription has changed", {"member_resubscribed"}),
    (
        "re-joining|updating metadata",
        {"member_rejoined", "topics_changed", "member_resubscribed", "partitions_given_up"},
    ),
)
"""By what a reason says, the causes that are right: a member that joins again says no more before release 3.2."""
_DEEDS: Final = (
    (r"(?<!re-)joins the .* group using", "member_joined"),
    (r"(?<!temporarily) left the|has left", "member_left"),
    (r"fenced|session expired|has failed", "session_expired"),
)
_METADATA: Final = frozenset({"topics_changed", "member_resubscribed"})


class BrokerReasons(NamedTuple):
    """The causes that brokers' reasons allow, by group and the generation or epoch that followed."""

    classic: dict[tuple[str, int], set[str]]
    """Of those that a rebalance of the generation before began with; a group made again has the last."""
    epochs: dict[tuple[str, int], set[str]]


def reasons_in(path: Path) -> BrokerReasons:
    """Return what a file of the coordinator's lines says."""
    classic: dict[tuple[str, int], set[str]] = {}
    epochs: dict[tuple[str, int], set[str]] = {}
    deeds, last = defaultdict[str, set[str]](set), dict[str, int]()
    for line in path.read_text(errors="replace").splitlines():
        if found := _CLASSIC.search(line):
            classic[found[1], int(found[2]) + 1] = _allowed(found[3])
        elif found := _EPOCHS.search(line):
            group, said = found[1], found[2]
            if bump := _BUMP.search(said):
                # Some releases do not tell of each epoch: then nobody knows whose deeds these were.
                if int(bump[1]) - last.get(group, 0) <= 1 or group not in last:
                    epochs[group, int(bump[1])] = deeds.pop(group, set()) or set(_METADATA)
                deeds.pop(group, None)
                last[group] = int(bump[1])
            deeds[group] |= {cause for pattern, cause in _DEEDS if re.search(pattern, said)}
    return BrokerReasons(classic, epochs)


def _allowed(reason: str) -> set[str]:
    return next(causes for said, causes in REASONS if re.search(said, reason.lower()))
