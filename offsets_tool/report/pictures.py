"""The pictures of a page: each as an image for paper and without scripts, and as a specification that scripts draw to be zoomed."""

import base64
import re
from collections.abc import Iterable, Sequence
from itertools import product
from typing import Final, NamedTuple

from markupsafe import Markup

from offsets_tool.as_of.selection import ANY
from offsets_tool.plots.charts.treemap import size_picture
from offsets_tool.plots.group_pictures import group_pictures
from offsets_tool.plots.picture import Picture
from offsets_tool.plots.themes import Theme, theme_config
from offsets_tool.report.bounds import IMAGE_SIZE
from offsets_tool.report.texts import script_json
from offsets_tool.review.asked import ReviewAsked
from offsets_tool.review.review import ReviewedGroup
from offsets_tool.rows import Row


class ShownPicture(NamedTuple):
    """A picture as a page has it: its anchor, title and sentence, an image, and a specification."""

    anchor: str
    title: str
    sentence: str
    image: Markup
    """A data URL of what is drawn for paper; no name in it is markup of the page."""
    spec: Markup
    """JSON for a script element, without a theme."""

    @property
    def size(self) -> int:
        """How many characters it takes in the page."""
        return len(self.image) + len(self.spec) + len(self.title) + 2 * len(self.sentence)


class Gallery(NamedTuple):
    """The pictures of the evidence or of one group, and how many more the page has no room for."""

    pictures: list[ShownPicture]
    left_out: int

    @property
    def size(self) -> int:
        """How many characters the pictures take in the page."""
        return sum(each.size for each in self.pictures)


NO_PICTURES: Final = Gallery([], 0)


def theme_configs() -> Markup:
    """Return the configurations of the light and the dark theme, as JSON for a script element."""
    return script_json({"light": theme_config(Theme.LIGHT), "dark": theme_config(Theme.DARK)})


def evidence_gallery(sizes: Iterable[Row], room: int) -> Gallery:
    """Return the picture of the log's bytes by group, if it takes at most `room` characters; `sizes` are those of a review."""
    picture = size_picture(sizes)
    if picture is None:
        return NO_PICTURES
    shown = _shown(picture, f"evidence-{picture.name}")
    return Gallery([shown], 0) if shown.size <= room else Gallery([], 1)


def galleries(groups: Sequence[ReviewedGroup], asked: ReviewAsked, room: int) -> list[Gallery]:
    """Return for each group its pictures, as many as fit into `room` characters; each group's first comes before others' second."""
    drawn = [_pictures(group, asked) for group in groups]
    shown: list[list[ShownPicture]] = [[] for _ in groups]
    for rank, number in product(range(max(map(len, drawn), default=0)), range(len(drawn))):
        if rank < len(drawn[number]) and room > 0:
            picture = _shown(drawn[number][rank], f"group-{number + 1}-{drawn[number][rank].name}")
            if picture.size <= room:
                room -= picture.size
                shown[number].append(picture)
    return [Gallery(some, len(every) - len(some)) for some, every in zip(shown, drawn, strict=True)]


def _pictures(group: ReviewedGroup, asked: ReviewAsked) -> list[Picture]:
    return group_pictures(
        group.rows,
        group.findings,
        group.rebalances,
        group.lag,
        since=asked.range.since.time,
        until=asked.range.until.time,
        wanted=asked.wanted._replace(groups=ANY),
    )


def _shown(picture: Picture, anchor: str) -> ShownPicture:
    spec = picture.spec(Theme.LIGHT, has_title=False)
    del spec["config"]
    return ShownPicture(anchor, picture.title, picture.sentence, _image(picture), script_json(spec))


def _image(picture: Picture) -> Markup:
    """Return a picture as a data URL: as SVG, or as PNG where the SVG would be too large."""
    lines = _numbered(picture.svg(Theme.LIGHT, has_title=False)).encode()
    if len(lines) <= IMAGE_SIZE:
        return _data_url("svg+xml", lines)
    points = picture.png(Theme.LIGHT)
    return _data_url("png", points) if len(points) < len(lines) else _data_url("svg+xml", lines)


def _data_url(kind: str, data: bytes) -> Markup:
    return Markup(f"data:image/{kind};base64,{base64.b64encode(data).decode()}")


def _numbered(drawing: str) -> str:
    """Return SVG with its gradients and clips renumbered from 0, as vl-convert continues numbers from picture to picture."""
    numbers: dict[str, str] = {}

    def renumber(found: re.Match[str]) -> str:
        return f"{found[2]}{numbers.setdefault(found[0], str(len(numbers)))}"

    return _TAG.sub(lambda tag: _NUMBERED.sub(renumber, tag[0]), drawing)


_TAG: Final = re.compile(r"<[^>]*>")
_NUMBERED: Final = re.compile(r"((?<=id=\")|(?<=url\(#))(gradient_|clip)\d+")
