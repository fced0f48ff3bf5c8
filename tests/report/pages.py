"""Pages of reports, and what a browser would find in one: elements, anchors, links, scripts, and the words that are read."""

import json
from functools import cache
from html.parser import HTMLParser
from pathlib import Path

from offsets_tool.evidence.expiring import PolicyOverrides
from offsets_tool.report.page import ReportWords, report_html
from offsets_tool.review.review import Review, review_of

WORDS = ReportWords(
    "0",
    "offsets-tool report LOG -o FILE",
    {
        what: f"offsets-tool {what} LOG"
        for what in ("groups", "findings", "timeline", "files", "records", "plan")
    },
)
MINUTE_MS = 60_000
MOST = 3_000_000


def policy_of(folder: Path) -> PolicyOverrides:
    """Return the policy that a user with the incident would know: the retention, if it is not Kafka's default."""
    retention = json.loads((folder / "manifest.json").read_text())["config"].get("offsets.retention.minutes")
    return PolicyOverrides(retentions=(int(retention) * MINUTE_MS,) if retention else ())


@cache
def review_of_incident(folder: Path, group: str | None = None) -> Review:
    return review_of(folder / "segments", group=group, policy=policy_of(folder))


@cache
def page_of_incident(folder: Path, group: str | None = None) -> str:
    return page_of(review_of_incident(folder, group))


def page_of(review: Review) -> str:
    return report_html(review, WORDS).decode()


class Parsed(HTMLParser):
    """A page parsed into elements, anchors, links, scripts and text."""

    VOID = frozenset(("meta", "img", "br", "input", "link"))

    def __init__(self, page: str) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: list[tuple[str, dict[str, str]]] = []
        self.texts: dict[str, list[str]] = {"script": [], "style": []}
        self.words: list[str] = []
        self.open: list[str] = []
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, {name: value or "" for name, value in attrs}))
        if tag not in self.VOID:
            self.open.append(tag)
            if tag in self.texts:
                self.texts[tag].append("")

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, {name: value or "" for name, value in attrs}))

    def handle_endtag(self, tag: str) -> None:
        assert self.open and self.open[-1] == tag, (tag, self.open[-4:])
        self.open.pop()

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] in self.texts:
            self.texts[self.open[-1]][-1] += data
        else:
            self.words.append(data)

    @property
    def text(self) -> str:
        """Return the text of the page in one line."""
        return " ".join("".join(self.words).split())

    @property
    def ids(self) -> list[str]:
        return [attributes["id"] for _, attributes in self.elements if "id" in attributes]

    @property
    def links(self) -> list[str]:
        return [attributes["href"] for _, attributes in self.elements if "href" in attributes]
