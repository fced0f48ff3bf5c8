"""Names are hostile input: whatever a group, topic, member or metadata is called, the page has no element, link or script of it."""

import re
import unicodedata
from collections.abc import Callable
from pathlib import Path
from typing import Final

import pytest
from markupsafe import Markup

from offsets_tool.report import texts
from offsets_tool.review.review import review_of
from offsets_tool.wire.text import decode_text
from tests.replay.story import StoryRecord, commit, group_metadata, member, tombstone
from tests.replay.story_segments import in_order, write_log
from tests.report.pages import MOST, Parsed, page_of

NAMES: Final = tuple(
    map(
        decode_text,
        (
            b"<script>window.__pwned=1</script>",
            b"</script><script>window.__pwned=2</script>",
            b"<!--<script>",
            b"]]><svg/onload=window.__pwned=3>",
            b'" onmouseover="window.__pwned=4" x="',
            b"' autofocus onfocus='window.__pwned=5",
            b"javascript:window.__pwned=6",
            b"<img src=x onerror=window.__pwned=7>",
            b"</style><style>*{display:none}</style>",
            b"expression(window.__pwned=8);background:url(http://evil.example/)",
            b"{{ 7*7 }}{% raw %}${7*7}",
            b"\\u003cscript\\u003ewindow.__pwned=9",
            "\u202egnp.exe\u2066x".encode(),
            "אבגד 12".encode(),
            b"a\0b\x1b[2J\r\nc",
            b"\xff\xed\xa0\x80\xc0\x80",
            "\u2028\u2029\ufeff\u200b".encode(),
            b"&lt;b&gt;&amp;",
            b" ",
            b"nan",
        ),
    )
)
LONG: Final = "long-" * 6_500
"""As long as a record's texts may be, nearly."""
Four = tuple[str, str, str, str]
"""What a group, its topic, its member and its commits' metadata are called."""


def records(names: Four) -> tuple[StoryRecord, ...]:
    """Return records of a group that rewinds and loses offsets, so that there are findings, members and rebalances."""
    group, topic, client, metadata = names
    return (
        group_metadata(group, 1, member(client, client_id=client, client_host=client)),
        commit(group, topic, 0, 500, metadata=metadata),
        commit(group, "t", 0, 500),
        commit(group, topic, 0, 3, metadata=metadata),
        group_metadata(group, 2),
        commit(group, topic, 0, 400),
        tombstone(group, topic, 0),
    )


def write_hostile(folder: Path, *groups: Four) -> Path:
    told = [each for names in groups for each in records(names)]
    write_log(folder, in_order(*told, timestamp=1_700_000_000_000))
    return folder


def write_hostile_names(folder: Path) -> Path:
    """A log in which every name is hostile."""
    turned = [NAMES[4 * at : 4 * at + 4] for at in range(len(NAMES) // 4)]
    return write_hostile(folder, *((a, b, c, d) for a, b, c, d in turned))


@pytest.fixture(scope="module")
def html(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The page of a log in which every name is hostile."""
    return page_of(review_of(write_hostile_names(tmp_path_factory.mktemp("hostile"))))


@pytest.mark.slow
def test_no_name_is_an_element_a_link_or_a_script(html: str) -> None:
    page = Parsed(html)
    assert not page.open and len(page.ids) == len(set(page.ids))
    allowed = {
        "script",
        "style",
        "meta",
        "title",
        "html",
        "head",
        "body",
        "svg",
        "symbol",
        "path",
        "circle",
        "use",
    }
    allowed |= {
        "a",
        "p",
        "header",
        "button",
        "span",
        "nav",
        "ol",
        "ul",
        "li",
        "main",
        "section",
        "h1",
        "h2",
        "h3",
        "h4",
        "h5",
    }
    allowed |= {
        "b",
        "i",
        "code",
        "pre",
        "table",
        "thead",
        "tbody",
        "tr",
        "th",
        "td",
        "caption",
        "div",
        "br",
        "time",
        "bdi",
    }
    allowed |= {
        "article",
        "dl",
        "dt",
        "dd",
        "figure",
        "figcaption",
        "img",
        "form",
        "label",
        "input",
        "select",
        "option",
    }
    allowed |= {"output", "details", "summary", "footer"}
    assert {tag for tag, _ in page.elements} <= allowed
    attributes = {name for _, each in page.elements for name in each}
    assert not {name for name in attributes if name.startswith("on")}
    assert "style" not in attributes
    assert all(re.fullmatch(r"#[a-z]+(-[\w-]+)?", link) for link in page.links)
    sources = [each["src"] for _, each in page.elements if "src" in each]
    assert all(re.fullmatch(r"data:image/svg\+xml;base64,[A-Za-z0-9+/=]+", source) for source in sources)


@pytest.mark.slow
def test_what_turns_a_line_around_or_is_not_seen_is_escaped(html: str) -> None:
    assert not {c for c in html if unicodedata.category(c) in ("Cc", "Cf", "Cs", "Zl", "Zp")} - {"\n", "\t"}
    assert "<bdi>אבגד</bdi>" in html or "<bdi class=name>אבגד" in html
    assert "\\xe2\\x80\\xaegnp.exe" in html and "\\xff\\xed\\xa0\\x80" in html and "a\\x00b\\x1b[2J" in html


@pytest.mark.slow
def test_every_name_is_to_be_read(html: str) -> None:
    words = Parsed(html).text
    for name in NAMES:
        assert " ".join(texts.name(name).striptags().split()) in words or name.strip() in words
    assert "{{ 7*7 }}{% raw %}" in words and "49" not in re.findall(r"\b49\b(?=\$)", words)


@pytest.mark.slow
def test_names_as_long_as_records_have_them_are_elided_with_their_length(tmp_path: Path) -> None:
    page = page_of(review_of(write_hostile(tmp_path, (LONG, LONG, LONG, LONG))))
    assert len(page.encode()) < MOST
    assert "(32,500 characters)" in page and "long-" * 60 not in page


@pytest.mark.parametrize(
    ("text", "markup"),
    [
        ('a < b & "c"', "a &lt; b &amp; &#34;c&#34;"),
        ("at 2026-11-21T12:12:06Z", "at <span class=unbroken>2026-11-21T12:12:06Z</span>"),
        ("give --log-starts to it", "give <span class=unbroken>--log-starts</span> to it"),
        ("ask `offsets-tool <x>`", "ask <code>offsets-tool &lt;x&gt;</code>"),
        ("group שלום 5 went", "group <bdi>שלום</bdi> 5 went"),
        ("x" * 161, f"{'x' * 120}…{'x' * 40} (161 characters)"),
    ],
)
def test_sentences(text: str, markup: str) -> None:
    assert texts.say(text) == markup


@pytest.mark.parametrize("show", [texts.say, texts.name, texts.command])
def test_a_megabyte_is_elided(show: Callable[[str], str]) -> None:
    shown = show("x" * 1_000_000)
    assert len(shown) < 400 and "(1,000,000 characters)" in Markup(shown).striptags()
    assert len(show("<a> " * 250_000)) < 20_000


def test_json_of_a_script_ends_no_script_and_has_no_nan() -> None:
    text = texts.script_json({"</script><!--": "\u2028&\ud800", "nan": None})
    assert not set("<>&\u2028") & set(text) and text.isascii()
    with pytest.raises(ValueError, match="not JSON compliant"):
        texts.script_json(float("nan"))


@pytest.mark.parametrize(
    ("data", "text"),
    [(None, "null"), (b"", ""), (b"a<\x00", f"0000  61 3c 00{' ' * 41}a&lt;.")],
)
def test_bytes_in_hexadecimal(data: bytes | None, text: str) -> None:
    assert texts.hex_dump(data) == text


def test_bytes_that_are_many_are_counted() -> None:
    assert texts.hex_dump(bytes(1_000)).splitlines()[-1] == "… 1,000 bytes in all"
