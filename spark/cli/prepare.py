"""The command `offsets-spark prepare`: make one call of this package, show where the archive is."""

import click

from offsets_tool.cli.render import note
from spark.cli.job import ExtraCommand

_EPILOG = """
\b
Example, in the file of an image:
  RUN pip install 'offsets-tool[spark]' && offsets-spark prepare
"""


@click.command("prepare", cls=ExtraCommand, epilog=_EPILOG)
def prepare_command() -> None:
    """Prepare this machine, or an image, for Spark: fetch Delta's jars, and make an archive of the classes that its JVM loads.

    With the archive, commands that need Spark start in two thirds of the time. It takes a minute and some 190 MB in the
    folder of the jars, and is good for this Java and this Spark: after another was installed, run the command again.
    """
    from spark.runtime.prepare import prepare  # noqa: PLC0415 - Spark

    note(f"{prepare(note)}: Spark starts with it from now on")
