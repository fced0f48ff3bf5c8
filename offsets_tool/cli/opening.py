"""Opens what a command's options name: options' texts become the values that `offsets_tool.evidence` takes.

What is told while reading goes to stderr; `--strict` ends the program with 3 where something could not be read. Holds no rules.
"""

from collections.abc import Mapping
from typing import Any, BinaryIO, Final

from offsets_tool.as_of.as_of import AsOf
from offsets_tool.cli.filter_options import clock_of
from offsets_tool.cli.moment_options import parse_rules, parse_topic_ids
from offsets_tool.cli.render import ProgressBar, default_format, note, write_caption
from offsets_tool.cli.source_options import parse_columns, parse_limits
from offsets_tool.evidence.clock_places import tell_moment
from offsets_tool.evidence.ends import KnownEnds
from offsets_tool.evidence.evidence import Evidence, open_evidence
from offsets_tool.evidence.filters import EVERYTHING, Filters
from offsets_tool.evidence.moment_texts import parse_bound, parse_optional_time
from offsets_tool.evidence.replaying import EvidenceReplay, as_of_bound

STRICT_EXIT: Final = 3


class Terminal:
    """A listener that writes notes to stderr and, where `has_bar`, shows there how far the reading has come."""

    def __init__(self, *, has_bar: bool) -> None:
        """`has_bar` False where the terminal is where the rows go."""
        self._has_bar = has_bar
        self._bar: ProgressBar | None = None

    def note(self, text: str) -> None:
        """Write one sentence."""
        note(text)

    def begin(self, size: int) -> None:
        """Show the bar, of so many bytes."""
        self._bar = ProgressBar(size, shown=self._has_bar)

    def advance(self, size: int) -> None:
        """Move the bar by so many bytes."""
        if self._bar is not None:
            self._bar.advance(size)

    def end(self) -> None:
        """Take the bar away."""
        if self._bar is not None:
            self._bar.close()


def evidence_of(
    options: Mapping[str, Any], filters: Filters = EVERYTHING, *, has_bar: bool, has_hashes: bool = True
) -> Evidence:
    """Open the sources that the options of `source_options` name; `has_bar` says whether to show progress."""
    return open_evidence(
        *options["logs"],
        filters=filters,
        bootstrap_server=options["bootstrap_server"],
        command_config=options["command_config"],
        log_partition=options["log_partition"],
        columns=parse_columns(options["columns"]),
        limits=parse_limits(options["max_batch_bytes"]),
        listener=Terminal(has_bar=has_bar),
        has_hashes=has_hashes,
    )


def ends_of(options: Mapping[str, Any]) -> KnownEnds:
    """Read the ends that the options of `ends_options` and `source_options` name."""
    return KnownEnds(
        options["logs"],
        files=options["ends"],
        log_starts=options["log_starts"],
        files_at=parse_optional_time(options["ends_at"], "--ends-at", clock_of(options)),
        is_last_stable=options["read_committed"],
        note=note,
    )


def finish(evidence: Evidence, *, strict: bool, where: str = "`offsets-tool inspect` names them") -> None:
    """Say what could not be read and where it is named; `strict` ends the program with 3 if there was anything."""
    if lacks := evidence.lacks():
        note(f"{lacks}; {where}")
        if strict:
            raise SystemExit(STRICT_EXIT)


class OpenReplay(EvidenceReplay):
    """A replay for a command: what --as-of was taken for stands above its tables, and `finish` says what it lacks."""

    def __init__(self, evidence: Evidence, as_of: AsOf, options: Mapping[str, Any], *, strict: bool) -> None:
        """`options` are those of `coordinator_option`."""
        topic_ids = parse_topic_ids(options["topic_ids"])
        super().__init__(evidence, as_of, rules=parse_rules(options), topic_ids=topic_ids)
        self.caption: str | None = None
        """What --as-of was taken for, where it may have been meant otherwise."""
        self._is_strict = strict

    def write_caption(self, out: BinaryIO, format_: str) -> None:
        """Write above a table what --as-of was taken for."""
        write_caption(out, format_, [self.caption] if self.caption else [])

    def finish(self) -> None:
        """Say which names were derived or are missing, and what could not be read, once all rows are shown."""
        for text in self.closing_notes():
            note(text)
        finish(self.evidence, strict=self._is_strict)


def open_replay(options: Mapping[str, Any], *, strict: bool, output_path: str | None) -> OpenReplay:
    """Open what the options of `source_options` and `moment_options` name, ready to be replayed to their moment."""
    clock = clock_of(options)
    bound = parse_bound(options.get("as_of", ()), "--as-of", clock)
    as_of = as_of_bound(bound)
    evidence = evidence_of(options, has_bar=default_format(output_path) != "table")
    replay = OpenReplay(evidence, as_of, options, strict=strict)
    replay.caption = tell_moment(evidence, bound, "--as-of", clock)
    return replay
