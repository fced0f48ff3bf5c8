"""Notes on each file of a broker's log: how much was understood, how its clock was found, what contradicts the records.

Every line that was not understood or was ignored is counted in a note.
"""

from collections.abc import Iterator
from itertools import groupby
from typing import Final

from offsets_tool.server_log.clocks import FileClock, Misfit
from offsets_tool.server_log.join import JoinedFile, ServerLog
from offsets_tool.server_log.parse import ServerLogFile
from offsets_tool.time_texts import duration_text

_NAME_IT: Final = "name its zone with --server-log-zone"
_HOUR_MS: Final = 3_600_000
_MINUTE_MS: Final = 60_000


def notes_on(log: ServerLog) -> Iterator[str]:
    """Yield sentences about each file."""
    for joined in log.files:
        yield from _understood(joined.file)
        if joined.file.entries:
            yield f"{joined.file.name}: {_clock(joined.clock)}"
        yield from _contradictions(joined)


def _understood(file: ServerLogFile) -> Iterator[str]:
    if not file.understood and not file.unknown:
        yield f"{file.name}: none of its {file.lines:,} lines is a group or transaction coordinator's; give the broker's server.log"
        return
    said = f"{file.name}: {file.understood:,} of {file.lines:,} lines are a coordinator's, in a known form"
    if file.unknown:
        said += f"; {len(file.unknown):,} more are not understood, the first {file.name}:{file.unknown[0]}"
    if file.is_torn:
        said += "; it is compressed and ends in the middle"
    yield said


def _clock(clock: FileClock) -> str:
    if clock.is_contradicted:
        return (
            f"its times do not fit the records in the zone that is given, where they are {duration_text(abs(clock.zone_ms))} "
            f"{'ahead of' if clock.zone_ms > 0 else 'behind'} them: they are not used; {_NAME_IT}"
        )
    if clock.ahead_ms is None and clock.misfits:
        return (
            "the generations and epochs that it names are in the records at other times: it is of another time, and only what it "
            "says of members by their own ids joins the records"
        )
    if clock.ahead_ms is None:
        return (
            "no generation or epoch that it names is in the records with a time: without a known clock only members and "
            f"generations join them; {_NAME_IT}"
        )
    if not clock.fitting:
        return "its zone is given, and no generation or epoch that it names is in the records: the skew is not known"
    of = "line is a generation or epoch" if clock.fitting == 1 else "lines are generations and epochs"
    return f"its times are in {_zone(clock.zone_ms)}{_skew(clock.skew_ms)}: {clock.fitting:,} {of} of the records"


def _zone(zone_ms: int) -> str:
    if not zone_ms:
        return "UTC"
    hours, rest = divmod(abs(zone_ms), _HOUR_MS)
    return f"UTC{'-' if zone_ms < 0 else '+'}{hours:02d}:{rest // _MINUTE_MS:02d}"


def _skew(skew_ms: int) -> str:
    if not skew_ms:
        return ""
    return f", {duration_text(abs(skew_ms))} {'ahead of' if skew_ms > 0 else 'behind'} the records'"


def _contradictions(joined: JoinedFile) -> Iterator[str]:
    found = sorted(joined.clock.misfits.items(), key=lambda pair: (list(Misfit).index(pair[1]), pair[0].line))
    for why, some in groupby(found, key=lambda pair: pair[1]):
        first, *more = [entry for entry, _ in some]
        others = f", and {len(more):,} more like it" if more else ""
        yield f"{first.source}: contradicts the records and is not believed: {why.value}{others}"
