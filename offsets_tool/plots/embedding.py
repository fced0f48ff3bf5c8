"""The library that draws Vega-Lite specifications in a page, as one script that needs no network."""

from functools import cache
from typing import Final

import vl_convert

_EXPOSE: Final = "window.vegaEmbed = vegaEmbed;"


@cache
def picture_library() -> str:
    """Return a script that defines `window.vegaEmbed`, which draws pictures; equal for equal releases of vl-convert."""
    return vl_convert.javascript_bundle(_EXPOSE)
