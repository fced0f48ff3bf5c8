"""What all commands of `offsets-spark` have in common: what they need, and how what goes wrong is told. Needs neither itself.

--help works without Spark; a command that runs without it is one sentence.
"""

from importlib.util import find_spec
from typing import Any, Final

import click

from offsets_tool.errors import SetupError

_NEEDED: Final = ("pyspark", "deltalake", "pandas", "numpy")
"""What the extra `spark` brings, as far as something here imports it."""
_REMEDY: Final = "pip install 'offsets-tool[spark]'"


class LakeCommand(click.Command):
    """A command on the lake that its option `--lake` names."""

    def invoke(self, ctx: click.Context) -> Any:
        """As click has it. OffsetsToolError for all that can be foreseen."""
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
