"""The library that draws specifications in a page of one's own: Vega-Lite's, as one script without a network."""

from functools import cache
from typing import Final

import vl_convert

_EXPOSE: Final = "window.vegaEmbed = vegaEmbed;"


@cache
def picture_library() -> str:
    """Return the script after which `window.vegaEmbed` draws pictures; the same text for the same release of vl-convert."""
    return vl_convert.javascript_bundle(_EXPOSE)
