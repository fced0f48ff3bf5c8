"""This package as a zip file, which executors of a cluster import as the driver imports it from its folder.

It holds Python's sources and the files beside them, no machine code: what is compiled is compiled by each executor, for its CPU.
Knows no other package.
"""

import atexit
import hashlib
import io
import zipfile
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Final

import offsets_tool
import spark

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_PACKAGES: Final = (offsets_tool, spark)
_BEGAN: Final = (1980, 1, 1, 0, 0, 0)
"""The time of each file: equal sources make equal packages."""
_SENT: Final = ("spark.submit.pyFiles", "spark.yarn.dist.pyFiles")
"""Settings with the files that spark-submit has sent to executors."""


def package_bytes() -> bytes:
    """Return the sources of this package as a zip file, byte for byte the same for the same sources."""
    if archive := _archive():
        return archive.read_bytes()
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as package:
        for name, file in sorted(_files()):
            package.writestr(zipfile.ZipInfo(name, _BEGAN), file.read_bytes(), zipfile.ZIP_DEFLATED)
    return made.getvalue()


def send_package(session: "SparkSession") -> None:
    """Let a session's executors import this package; nothing is done where spark-submit, or an earlier call, has sent it."""
    file = _archive() or _kept()
    if hasattr(session, "addArtifacts") and not hasattr(session, "_jsc"):
        session.addArtifacts(str(file), pyfile=True)
        return
    context = session.sparkContext
    sent = [name for key in _SENT for name in context.getConf().get(key, "").split(",")]
    if file.name not in (Path(name).name for name in (*sent, *context.listFiles)):
        context.addPyFile(str(file))


def _archive() -> Path | None:
    """Return the zip file from which this package was imported; None where it was imported from a folder."""
    return next((path for path in Path(spark.__file__).parents if path.is_file()), None)


@cache
def _kept() -> Path:
    """Return the path of the package as a zip file, which is deleted when this process ends."""
    folder = TemporaryDirectory(prefix="offsets-tool-")
    atexit.register(folder.cleanup)
    content = package_bytes()
    name = f"offsets_tool-{offsets_tool.__version__}-{hashlib.sha256(content).hexdigest()[:8]}.zip"
    file = Path(folder.name, name)
    file.write_bytes(content)
    return file


def _files() -> Iterator[tuple[str, Path]]:
    """Yield all files of the package, each with its name in the zip file."""
    for package in _PACKAGES:
        folder = Path(package.__path__[0])
        for file in folder.rglob("*"):
            if file.is_file() and "__pycache__" not in file.parts:
                yield file.relative_to(folder.parent).as_posix(), file
