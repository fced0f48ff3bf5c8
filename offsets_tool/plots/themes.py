"""The look of pictures in the light and the dark theme: a configuration of Vega-Lite for each, and all colours.

Colours are those of Okabe and Ito that can be told apart by the colour-blind and stand out on both grounds. No picture relies on
colour alone: shapes, dashes and tooltips say the same. Knows no picture.
"""

from enum import StrEnum
from typing import Final

from offsets_tool.wire.json import JsonObject

BLUE: Final = "#4C9BD6"
ORANGE: Final = "#E69F00"
GREEN: Final = "#009E73"
VERMILLION: Final = "#D55E00"
PURPLE: Final = "#CC79A7"
NAVY: Final = "#0072B2"
GREY: Final = "#8C8C8C"
PALETTE: Final = (BLUE, ORANGE, GREEN, VERMILLION, PURPLE, NAVY, "#B8A000", GREY)
"""In the order in which lines and bars take them."""
DASHES: Final = ((1, 0), (6, 2), (2, 2), (8, 2, 2, 2), (4, 4), (10, 3), (1, 3), (6, 2, 1, 2))
"""The dash of each line, in the order of the palette."""
FONT: Final = "system-ui, 'Segoe UI', 'DejaVu Sans', 'Liberation Sans', sans-serif"


class Theme(StrEnum):
    """The theme of a picture: on a light or a dark ground."""

    LIGHT = "light"
    DARK = "dark"


_INK: Final = {
    Theme.LIGHT: ("#ffffff", "#1f2328", "#59636e", "#e4e7eb"),
    Theme.DARK: ("#0d1117", "#e6edf3", "#9198a1", "#2a313a"),
}
"""Ground, text, faint text and grid of each theme."""
_RAMPS: Final = {Theme.LIGHT: ("#e3eef8", "#4C9BD6"), Theme.DARK: ("#16324f", "#2f7fc1")}
"""From little to much, as bars that have a text show it."""
_SCHEMES: Final = {Theme.LIGHT: ("#dbe9f6", "#0b3c6f"), Theme.DARK: ("#16324f", "#8fd0ff")}
"""From little to much, as heat maps show it."""


def theme_config(theme: Theme = Theme.LIGHT) -> JsonObject:
    """Return the `config` of a Vega-Lite specification for a theme."""
    ground, ink, faint, grid = _INK[theme]
    little, much = _SCHEMES[theme]
    words = {
        "labelColor": faint,
        "titleColor": ink,
        "labelFontSize": 11,
        "titleFontSize": 11,
        "titleFontWeight": "normal",
    }
    return {
        "background": ground,
        "font": FONT,
        "title": {
            "color": ink,
            "subtitleColor": faint,
            "anchor": "start",
            "fontSize": 14,
            "subtitleFontSize": 11,
        },
        "axis": {**words, "gridColor": grid, "domainColor": faint, "tickColor": faint, "labelLimit": 320},
        "legend": {**words, "labelLimit": 320, "symbolLimit": 40, "offset": 4, "padding": 0},
        "header": words,
        "view": {"stroke": grid},
        "range": {"category": list(PALETTE), "heatmap": [little, much], "ramp": list(_RAMPS[theme])},
        "text": {"color": ink, "fontSize": 10},
        "style": {
            "faint": {"color": faint, "stroke": faint, "fill": faint},
            "ink": {"color": ink, "stroke": ink, "fill": ink},
            "ground": {"fill": grid, "color": grid, "stroke": None},
        },
        "concat": {"spacing": 8},
    }
