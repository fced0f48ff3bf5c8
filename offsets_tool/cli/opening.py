"""Open the sources that a command's options name: parse their texts into the values that `offsets_tool.evidence` takes.

Notes and progress go to stderr; `--strict` ends the program with 3 where something could not be read. Holds no rules of Kafka.
"""

from collections.abc import Iterable, Mapping
from typing import Any, Final

from offsets_tool.as_of.as_of import AsOf
from offsets_tool.cli.filter_options import clock_of
from offsets_tool.cli.moment_options import parse_leaders, parse_rules, parse_topic_ids
from offsets_tool.cli.options import OptionsGiven
from offsets_tool.cli.render import (
    ProgressBar,
    default_format,
    note,
    note_all,
    output,
    write_caption,
    write_rows,
)
from offsets_tool.cli.source_options import parse_columns, parse_limits
from offsets_tool.cli.table import PrintedTable
from offsets_tool.evidence.ends import EndSources
from offsets_tool.evidence.evidence import Evidence, open_evidence
from offsets_tool.evidence.filters import EVERYTHING, Filters, unreached
from offsets_tool.evidence.moments.copies_asked import COPIES_ASKED
from offsets_tool.evidence.moments.moment_texts import Clock, as_of_bound, parse_bound, parse_optional_time
from offsets_tool.evidence.replaying import EvidenceReplay
from offsets_tool.evidence.understood_moments import note_moment, note_range

STRICT_EXIT: Final = 3


class Terminal:
    """A listener of the reading of evidence: it writes notes and, where `has_bar`, a progress bar to stderr."""

    def __init__(self, *, has_bar: bool) -> None:
        """Listen to evidence; `has_bar` is False where rows go to the same terminal as the progress bar."""
        self._has_bar = has_bar
        self._bar: ProgressBar | None = None

    def note(self, text: str) -> None:
        """Write a note of one sentence to stderr."""
        note(text)

    def begin(self, size: int) -> None:
        """Show the progress bar; `size` is how many bytes there are to read."""
        self._bar = ProgressBar(size, shown=self._has_bar)

    def advance(self, size: int) -> None:
        """Move the progress bar by `size` bytes."""
        if self._bar is not None:
            self._bar.advance(size)

    def end(self) -> None:
        """Remove the progress bar."""
        if self._bar is not None:
            self._bar.close()


def evidence_of(
    options: OptionsGiven,
    filters: Filters = EVERYTHING,
    *,
    has_bar: bool,
    has_hashes: bool = True,
    is_of_records: bool = False,
) -> Evidence:
    """Open the sources that the options of `source_options` name.

    `has_bar` says whether to show progress, `is_of_records` whether a lake is asked for its records alone.
    UsageError for options that contradict each other, SourceError for a source that
    is not there or cannot be opened.
    """
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
        view=options.get("copies_view", COPIES_ASKED.view),
        leader=parse_leaders(options.get("leaders", ())),
        cluster=options["cluster"],
        groups=options.get("groups", ()),
        is_of_records=is_of_records,
    )


def ends_of(options: OptionsGiven, evidence: Evidence) -> EndSources:
    """Return the end offsets that the options of `ends_options` name, and those of the evidence or beside it.

    UsageError for an unreadable time; SourceError for a file that is in none of the known forms.
    """
    return EndSources(
        options["logs"],
        stored=evidence.stored_ends,
        files=options["ends"],
        log_starts=options["log_starts"],
        files_at=parse_optional_time(options["ends_at"], "--ends-at", clock_of(options)),
        is_last_stable=options["read_committed"],
        note=note,
    )


def finish(
    evidence: Evidence,
    *,
    strict: bool,
    without: str | None = None,
    where: str = "`offsets-tool inspect` names them",
) -> None:
    """Write notes on what could not be read, which `where` names, and on a range without a record; with `strict`, exit with 3.

    `without` says that no record is from a range; None asks the evidence's own filters. SystemExit only where there is something
    to note.
    """
    lacks, without = evidence.lacks(), without or unreached(evidence.filters, evidence.ledgers)
    if lacks:
        note(f"{lacks}; {where}")
    if without:
        note(without)
    if strict and (lacks or without):
        raise SystemExit(STRICT_EXIT)


class OpenReplay(EvidenceReplay):
    """A replay for a command, with captions on how moments were understood, and with closing notes on stderr."""

    def __init__(
        self, evidence: Evidence, as_of: AsOf, options: OptionsGiven, *, strict: bool, option: str
    ) -> None:
        """Replay evidence by the `options` of `coordinator_option` to the moment that `option` named.

        UsageError for a --topic-id that is none.
        """
        topic_ids = parse_topic_ids(options["topic_ids"])
        super().__init__(evidence, as_of, rules=parse_rules(options), topic_ids=topic_ids, option=option)
        self.captions: list[str] = []
        """How texts of moments were understood, where they could be read in more than one way."""
        self._is_strict = strict

    def note_range(self, asked: Filters, clock: Clock) -> None:
        """Note how --since and --until were understood; `clock` is the one by which they were read."""
        self.captions += note_range(self.evidence, asked, clock)

    def show(self, rows: Iterable[Any], format_: str, table: PrintedTable, output_path: str | None) -> None:
        """Write rows to stdout or a file, in a table below the captions."""
        with output(output_path, self.evidence.files) as out:
            write_caption(out, format_, self.captions)
            write_rows(out, rows, format_, table)

    def finish(self, asked: Filters = EVERYTHING, *, shows_records: bool = True) -> None:
        """Write the closing notes, once all rows are shown: names derived or missing, what could not be read, no record in a range.

        `asked` has the range of --since and --until, where the command has them. Its rows are records or changes of it, unless
        not `shows_records`.
        """
        note_all(self.closing_notes())
        finish(
            self.evidence, strict=self._is_strict, without=self.unreached(asked, shows_records=shows_records)
        )

    def unreached(self, asked: Filters, *, shows_records: bool = True) -> str | None:
        """Return the note that no record is from the range of `asked`; None where one may be, or what is shown is from it.

        A record whose time the others contradict is from no range, but what was found of it is shown.
        """
        is_shown = shows_records and self.evidence.has_shown
        return unreached(asked, self.evidence.ledgers if is_shown else self.dated_ledgers())


def open_replay(
    options: OptionsGiven,
    *,
    strict: bool,
    output_path: str | None,
    option: str = "--as-of",
    is_of_groups: bool = False,
) -> OpenReplay:
    """Open the evidence and the moment that the options of `source_options` and `moment_options` name; `run` replays it.

    `option` is what notes and errors call the option `as_of`. `is_of_groups` says that what is asked of a group rests on its own
    records alone.

    UsageError for values of options that cannot be parsed; SourceError for a source that cannot be opened.
    """
    [replay] = open_replays(options, {option: "as_of"}, strict=strict, output_path=output_path)
    if is_of_groups:
        replay.evidence.narrow_to_groups(replay.snapshot.as_of)
    return replay


def open_replays(
    options: OptionsGiven, moments: Mapping[str, str], *, strict: bool, output_path: str | None
) -> list[OpenReplay]:
    """Open one evidence for several moments; `moments` are the options that name them, each with its name among `options`.

    Errors are those of `open_replay`.
    """
    clock = clock_of(options)
    bounds = {
        option: parse_bound(options.get(name, ()), option, clock, takes_epochs=True)
        for option, name in moments.items()
    }
    ends = {option: as_of_bound(bound, option) for option, bound in bounds.items()}
    evidence = evidence_of(options, has_bar=default_format(output_path) != "table")
    replays = []
    for option, bound in bounds.items():
        replay = OpenReplay(evidence, ends[option], options, strict=strict, option=option)
        replay.captions += filter(None, [note_moment(evidence, bound, option, clock)])
        replays.append(replay)
    return replays
