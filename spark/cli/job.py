"""The click command that all commands of `offsets-spark` share: it checks what they need and turns failures into one sentence.

Imports neither Spark nor deltalake itself: --help works without them, and a command says what is missing.
"""

from importlib.util import find_spec
from typing import Any, Final

import click

from offsets_tool.errors import SetupError

_NEEDED: Final = ("pyspark", "deltalake", "pandas", "numpy")
"""The packages of the extra `spark` that this package imports."""
_REMEDY: Final = "pip install 'offsets-tool[spark]'"


class LakeCommand(click.Command):
    """A click command that works on the lake that its option `--lake` names."""

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command; SetupError where a package is missing, OffsetsToolError in one sentence for other known failures."""
        if missing := [name for name in _NEEDED if find_spec(name) is None]:
            raise SetupError(f"offsets-spark needs {' and '.join(missing)}, not installed here: {_REMEDY}")
        try:
            from spark.lake.failures import in_one_sentence  # noqa: PLC0415 - Spark

            with in_one_sentence(ctx.params["lake"]):
                return super().invoke(ctx)
        except ImportError as error:
            raise SetupError(
                f"offsets-spark needs a package that cannot be imported ({error}): {_REMEDY}"
            ) from error
