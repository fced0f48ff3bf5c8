"""Command lines of Kafka's own tools, to copy into a shell: what sets offsets from a file, and what looks at a hanging transaction.

A command is a list of words as a shell takes them: quoted, and without anything that steers a terminal. Nothing here runs one.
Sources: ConsumerGroupCommandOptions (several --group since 2.4, KIP-379), TransactionsCommand (3.0, KIP-664).
"""

import shlex
from collections.abc import Iterable
from typing import Final, NamedTuple

from offsets_tool.wire.text import encode_text, visible

ANY_BROKER: Final = "BROKER:9092"
"""Stands for the address of a broker, which whoever runs the command has to give."""
_OFFSETS: Final = "--topic __consumer_offsets"
_PLAIN: Final = frozenset(range(0x20, 0x7F)) - frozenset(b"'\\")

CommandWords = list[str]
"""The words of a command line, each as a shell takes it."""


class ClusterAddress(NamedTuple):
    """The options with which Kafka's tools reach the cluster."""

    bootstrap_server: str = ANY_BROKER
    command_config: str | None = None

    @property
    def words(self) -> CommandWords:
        """The options that name the cluster."""
        config = self.command_config
        more = [] if config is None else [f"--command-config {shell_word(config)}"]
        return [f"--bootstrap-server {shell_word(self.bootstrap_server)}", *more]


def shell_word(text: str) -> str:
    r"""Return a text as one word for bash or zsh, with invisible and control characters as $'\x1b'.

    >>> shell_word("orders"), shell_word("a b"), shell_word("a\tb's")
    ('orders', "'a b'", "$'a\\x09b\\x27s'")
    """
    if visible(text) == text:
        return shlex.quote(text)
    return "$'" + "".join(chr(b) if b in _PLAIN else f"\\x{b:02x}" for b in encode_text(text)) + "'"


def names_group(group: str) -> bool:
    """Return whether --group can name a group: a NUL ends an argument, and for the empty name the tool resets nothing at all."""
    return group != "" and "\0" not in group


def reset_words(
    cluster: ClusterAddress, groups: Iterable[str], file: str, *, is_executed: bool
) -> CommandWords:
    """Return the command that resets groups from a file, or only shows what it would set."""
    mode = "--execute" if is_executed else "--dry-run"
    return [
        "kafka-consumer-groups",
        *cluster.words,
        "--reset-offsets",
        f"--from-file {shell_word(file)}",
        mode,
        *_groups(groups),
    ]


def export_words(cluster: ClusterAddress, groups: Iterable[str], file: str) -> CommandWords:
    """Return the command that saves what groups have committed to a file that `reset_words` takes, to undo a reset."""
    return [
        "kafka-consumer-groups",
        *cluster.words,
        "--reset-offsets --to-current --all-topics --export --dry-run",
        *_groups(groups),
        f"> {shell_word(file)}",
    ]


def describe_words(cluster: ClusterAddress, groups: Iterable[str], what: str) -> CommandWords:
    """Return the command that shows the `state` of groups, or their `offsets`."""
    return ["kafka-consumer-groups", *cluster.words, "--describe", f"--{what}", *_groups(groups)]


def find_hanging_words(cluster: ClusterAddress, log_partition: int) -> CommandWords:
    """Return the command that lists the transactions of a partition of __consumer_offsets whose coordinator has forgotten them."""
    return ["kafka-transactions", *cluster.words, "find-hanging", _OFFSETS, f"--partition {log_partition}"]


def abort_words(cluster: ClusterAddress, log_partition: int, first_offset: int) -> CommandWords:
    """Return the command that aborts the transaction that begins at an offset of a partition of __consumer_offsets.

    Brokers before 3.0 want --producer-id, --producer-epoch and --coordinator-epoch instead, which find-hanging prints.
    """
    at = f"--partition {log_partition}", f"--start-offset {first_offset}"
    return ["kafka-transactions", *cluster.words, "abort", _OFFSETS, *at]


def _groups(groups: Iterable[str]) -> CommandWords:
    return [f"--group {shell_word(group)}" for group in groups]
