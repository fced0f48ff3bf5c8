"""The pictures of a page: each as an image that needs no script and prints, and as a specification that is drawn to be zoomed."""

import base64
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from markupsafe import Markup

from offsets_tool.plots.group_pictures import group_pictures
from offsets_tool.plots.picture import Picture
from offsets_tool.plots.themes import Theme, theme_config
from offsets_tool.report.bounds import PICTURES_SIZE
from offsets_tool.report.texts import script_json
from offsets_tool.review.asked import ReviewAsked
from offsets_tool.review.review import ReviewedGroup


class ShownPicture(NamedTuple):
    """A picture of a page."""

    anchor: str
    title: str
    sentence: str
    image: Markup
    """A data URL of what is drawn for paper; no name in it is markup of the page."""
    spec: Markup
    """JSON for a script element, without a theme."""

    @property
    def size(self) -> int:
        """How many characters it takes."""
        return len(self.image) + len(self.spec) + len(self.title) + 2 * len(self.sentence)


class GroupGallery(NamedTuple):
    """The pictures of one group, and how many more there is no room for."""

    pictures: list[ShownPicture]
    left_out: int


def theme_configs() -> Markup:
    """Return the configurations of the light and the dark theme, as JSON for a script element."""
    return script_json({"light": theme_config(Theme.LIGHT), "dark": theme_config(Theme.DARK)})


def galleries(groups: Sequence[ReviewedGroup], asked: ReviewAsked) -> Iterator[GroupGallery]:
    """Yield the pictures of each group, as many as a page has room for."""
    left = PICTURES_SIZE
    for number, group in enumerate(groups, 1):
        since, until = asked.range.since.time, asked.range.until.time
        drawn = group_pictures(
            group.rows,
            group.findings,
            group.rebalances,
            since=since,
            until=until,
            wanted=asked.wanted._replace(groups=type(asked.wanted)().groups),
        )
        shown = []
        for each in drawn:
            picture = _shown(each, f"group-{number}-{each.name}")
            if picture.size <= left:
                left -= picture.size
                shown.append(picture)
        yield GroupGallery(shown, len(drawn) - len(shown))


def _shown(picture: Picture, anchor: str) -> ShownPicture:
    spec = picture.spec(Theme.LIGHT, has_title=False)
    del spec["config"]
    drawn = picture.svg(Theme.LIGHT, has_title=False).encode()
    image = Markup(f"data:image/svg+xml;base64,{base64.b64encode(drawn).decode()}")
    return ShownPicture(anchor, picture.title, picture.sentence, image, script_json(spec))
