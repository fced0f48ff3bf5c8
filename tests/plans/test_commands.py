"""The commands of a plan are what a shell takes: any name is one word again, and nothing in it steers a terminal."""

import subprocess

import pytest
from hypothesis import given
from hypothesis import strategies as st

from offsets_tool.plans.commands import ClusterAddress, abort_words, describe_words, reset_words, shell_word
from offsets_tool.wire.text import encode_text, visible

AT = ClusterAddress("b:1")


def as_bash_reads(words: list[str]) -> list[bytes]:
    """Return the arguments that a program gets when bash runs these words."""
    said = subprocess.run(
        ["bash", "-c", f"printf '%s\\0' {' '.join(words)}"], capture_output=True, check=True
    )
    return said.stdout.split(b"\0")[:-1]


TEXTS = st.lists(st.text(st.characters(exclude_characters="\0")), min_size=1, max_size=20)


@given(TEXTS)
def test_any_text_is_one_word_for_bash(texts: list[str]) -> None:
    texts = [text.encode("utf-8", "surrogatepass").decode("utf-8", "surrogateescape") for text in texts]
    words = [shell_word(text) for text in texts]
    assert as_bash_reads(words) == [encode_text(text) for text in texts]
    assert [visible(word) for word in words] == words


@pytest.mark.parametrize(
    "group", ["--execute", "$(rm x)", "`x`", "a b", "'", '"', "x\ry", "\\", "!h", "*", "~"]
)
def test_a_group_is_the_argument_of_its_option(group: str) -> None:
    for words in (
        reset_words(AT, [group], "f", is_executed=False),
        reset_words(AT, [group], "f", is_executed=True),
        describe_words(AT, [group], "state"),
    ):
        assert as_bash_reads(words)[-2:] == [b"--group", group.encode()]


def test_only_the_last_of_all_commands_executes() -> None:
    dry, executed = (" ".join(reset_words(AT, ["g"], "f.csv", is_executed=each)) for each in (False, True))
    assert (
        dry
        == "kafka-consumer-groups --bootstrap-server b:1 --reset-offsets --from-file f.csv --dry-run --group g"
    )
    assert executed == dry.replace("--dry-run", "--execute")


def test_the_clients_properties_go_along() -> None:
    at = ClusterAddress("b:1", "my client.properties")
    assert as_bash_reads(abort_words(at, 3, 31))[1:5] == [
        b"--bootstrap-server",
        b"b:1",
        b"--command-config",
        b"my client.properties",
    ]
