"""A picture: its name, a sentence on what it shows, and its chart; given as a specification, as bytes or as a file.

Nothing is fetched from a network: vl-convert draws PNG and SVG in this process, and a page holds all that it needs. Knows no rows.
"""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from textwrap import wrap
from typing import Final

import altair as alt
import vl_convert

from offsets_tool.errors import UsageError
from offsets_tool.plots.embedding import picture_library
from offsets_tool.plots.themes import Theme, theme_config
from offsets_tool.plots.time_axis import WIDTH, TimeAxis
from offsets_tool.wire.json import JsonObject

AnyChart = alt.Chart | alt.LayerChart | alt.VConcatChart | alt.HConcatChart
"""What a picture is drawn of."""
AnyPanel = alt.LayerChart
"""What stands above or below another in a picture."""
DataSets = dict[str, list[JsonObject]]
"""The rows that a picture draws, by the names that its charts give them."""
_SUBTITLE: Final = 120
"""Characters of a line of the sentence below a picture's title."""
_SCALE: Final = 2.0
"""Points of a PNG for each point of the picture."""
_FEW: Final = 6
"""Up to how many whole numbers each have a tick."""
_LARGE: Final = 100_000
_INDEPENDENT: Final = {"color": "independent", "shape": "independent", "strokeDash": "independent"}
_PAGE: Final = """<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><title>offsets-tool</title>
<style>body {{ background: {ground}; margin: 16px }}</style></head>
<body><div id="picture"></div>
<script type="application/json" id="spec">{spec}</script>
<script>{library}</script>
<script>{draw}</script>
</body></html>
"""
_DRAW: Final = """
const spec = JSON.parse(document.getElementById("spec").textContent);
vegaEmbed("#picture", spec, { actions: false, renderer: "svg" });
"""
_MARKUP: Final = {ord(character): f"\\u{ord(character):04x}" for character in "<>&\u2028\u2029"}
"""What JSON inside of a page escapes, so that no text of it is taken for markup."""


@dataclass(frozen=True)
class Picture:
    """One picture of an evidence: a chart, its title, and a sentence on what it shows.

    A notebook shows it; `save` writes it as PNG, SVG, HTML or Vega-Lite.

    >>> from offsets_tool.plots.picture import Picture
    >>> chart = alt.Chart(alt.NamedData("commits")).mark_point().encode(x="t:T", y="v:Q")
    >>> picture = Picture("commits", "Commits", "One commit, of offset 5.", chart)
    >>> picture.spec(Theme.DARK)["config"]["background"], picture.svg()[:4]
    ('#0d1117', '<svg')
    """

    name: str
    """What it is called in file names and links, as in committed-offsets."""
    title: str
    """What it shows, in a few words."""
    sentence: str
    """What is to be seen in it, with figures: its caption, and what is read to those who cannot see it."""
    chart: AnyChart
    """The Altair chart, without a theme and without the title."""
    theme: Theme = Theme.LIGHT
    """The ground that it is drawn for unless a call says another."""

    def themed(self, theme: Theme) -> "Picture":
        """Return this picture in another theme, light or dark."""
        return replace(self, theme=theme)

    def spec(self, theme: Theme | None = None, *, has_title: bool = True) -> JsonObject:
        """Return the picture's Vega-Lite specification with its data; without a title where the page shows title and text."""
        spec = self._specified | {
            "config": theme_config(theme or self.theme),
            "description": f"{self.title}. {self.sentence}",
        }
        if has_title:
            spec["title"] = {
                "text": self.title,
                "subtitle": wrap(self.sentence, _SUBTITLE),
                "anchor": "start",
            }
        return spec

    @cached_property
    def _specified(self) -> JsonObject:
        # Altair copies a chart again and again on the way, and each row of its data with it: they join at the end.
        bare = self.chart.copy(deep=False)
        bare.datasets = alt.Undefined
        spec: JsonObject = bare.to_dict(validate=False)
        return spec if self.chart.datasets is alt.Undefined else spec | {"datasets": self.chart.datasets}

    def svg(self, theme: Theme | None = None, *, has_title: bool = True) -> str:
        """Return the picture as SVG, drawn by vl-convert."""
        return vl_convert.vegalite_to_svg(self.spec(theme, has_title=has_title), allowed_base_urls=[])

    def png(self, theme: Theme | None = None, *, scale: float = _SCALE) -> bytes:
        """Return the picture as PNG, with `scale` pixels for each point of the picture."""
        return vl_convert.vegalite_to_png(self.spec(theme), scale=scale, allowed_base_urls=[])

    def save(self, path: str | Path, theme: Theme | None = None) -> Path:
        """Write the picture by the file's ending: as .png, .svg, .html (a page of its own that can be zoomed) or .json (Vega-Lite).

        UsageError for another ending.
        """
        path = Path(path)
        made = {
            ".png": lambda: self.png(theme),
            ".svg": lambda: self.svg(theme).encode(),
            ".html": lambda: self._page(theme).encode(),
            ".json": lambda: json.dumps(self.spec(theme), ensure_ascii=False).encode(),
        }.get(path.suffix.lower())
        if made is None:
            raise UsageError(f"{path}: a picture is a .png, .svg, .html or .json; name the file so")
        path.write_bytes(made())
        return path

    def _page(self, theme: Theme | None) -> str:
        spec = self.spec(theme)
        return _PAGE.format(
            ground=spec["config"]["background"],
            spec=json.dumps(spec, ensure_ascii=False).translate(_MARKUP),
            library=picture_library(),
            draw=_DRAW,
        )

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> JsonObject:
        """Return the picture for notebooks by media type: a specification for those that can draw and zoom it, and a PNG."""
        spec = self.spec()
        return {
            "application/vnd.vegalite.v6+json": spec,
            "image/png": self.png(),
            "text/plain": f"{self.title}. {self.sentence}",
        }


def sentence(texts: Sequence[str]) -> str:
    """Return parts of a sentence joined to one sentence: commas between, a capital first, a full stop."""
    text = "; ".join(texts)
    return f"{text[:1].upper()}{text[1:]}."


def ramp_legend(title: str, most: float) -> alt.Legend:
    """Return a legend of colours for whole numbers from 0 to `most`, in one line above a panel."""
    legend = alt.Legend(title=title, orient="top", direction="horizontal", titleOrient="left", format="~s")
    legend.gradientLength, legend.gradientThickness = 140, 9
    if most <= _FEW:
        legend.values = list(range(int(most) + 1))
    return legend


def whole_numbers(title: str, values: Iterable[float], *, has_zero: bool = False, field: str = "v") -> alt.Y:
    """Return the vertical channel of a field of whole numbers, with a tick for each number where they are few."""
    least, most = min(values := list(values), default=0), max(values, default=0)
    least = min(least, 0) if has_zero else least
    few = {"values": list(range(int(least), int(most) + 1))} if most - least <= _FEW else {"tickCount": 4}
    axis = alt.Axis(format=",d" if most < _LARGE else "~s", **few)
    return alt.Y(f"{field}:Q", title=title, scale=alt.Scale(zero=has_zero), axis=axis)


def layered(*layers: alt.Chart, height: int, title: str | None = None) -> alt.LayerChart:
    """Return layered charts as one panel of this height in points, with its title above on the left."""
    named = {} if title is None else {"title": alt.Title(title, fontSize=11, offset=2, frame="group")}
    made = alt.layer(*layers, width=WIDTH, height=height, **named)
    assert isinstance(made, alt.LayerChart)
    return made


def stacked(panels: Sequence[AnyPanel], data: DataSets, axis: TimeAxis) -> AnyChart:
    """Return panels one below the other over named data sets, zoomed together along their axis of time.

    An axis that is cut cannot be zoomed: a narrower window shows more.
    """
    if axis.is_cut:
        for panel in panels:
            panel.layer = [_silences(axis), *panel.layer]
    chart = alt.vconcat(*panels)
    # Attributes of the whole, and not methods that make another: each would copy all panels, and the data with them.
    chart.resolve = alt.Resolve(scale=_INDEPENDENT)
    if not axis.is_cut:
        chart.params = [_zoom(chart)]
    chart.datasets = data | {"silences": axis.silences()} if axis.is_cut else data
    return chart


def _silences(axis: TimeAxis) -> alt.Chart:
    """Return a chart of the strips that mark where an axis is cut."""
    base = alt.Chart(alt.NamedData("silences")).mark_rect(style="ground")
    made: alt.Chart = base.encode(x=axis.x(), x2="t2", tooltip=alt.Tooltip("x:N", title="cut out"))
    return made


def _zoom(chart: alt.VConcatChart) -> alt.TopLevelSelectionParameter:
    """Add to a chart, and return, the selection that zooms all its panels together."""
    for number, panel in enumerate(chart.vconcat):
        panel.layer[0].name = f"panel_{number}"
    select = alt.IntervalSelectionConfig(type="interval", encodings=["x"])
    views = [f"panel_{number}" for number in range(len(chart.vconcat))]
    return alt.TopLevelSelectionParameter(name="zoom", select=select, bind="scales", views=views)
