"""Say in one sentence what the failure of a job means: what is damaged or in the way, what still holds, and what to do.

The one place that translates errors of deltalake, Arrow, Spark, Java and the disk. Most jobs commit last, so that a failed one does
not count. Knows not what a job does.
"""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final
from urllib.parse import unquote

import pyarrow as pa
from deltalake.exceptions import DeltaError
from py4j.protocol import Py4JError, Py4JJavaError, Py4JNetworkError
from pyspark.errors import PySparkException

from offsets_tool.errors import LakeInUse, OffsetsToolError, SetupError, SourceError, UsageError
from offsets_tool.lake.damage import damage_of_lake, remedy_for, with_remedy
from offsets_tool.log.archive.delta_log import first_line
from offsets_tool.log.refusals import meant_refusal
from offsets_tool.log.storage import as_path, is_stored

_FOREIGN: Final = (DeltaError, pa.ArrowException, OSError, UnicodeDecodeError, PySparkException, Py4JError)
_UNCOMMITTED: Final = "what it had not committed does not count, and what was there holds"
_PART_COUNTS: Final = "part of it may be done, and all else is as it was"
_DISK: Final = re.compile(
    r"No space left on device|Disk quota exceeded|File too large|Read-only file system|Permission denied|Input/output error",
    re.I,
)
_NAMED: Final = re.compile(r"file:/+([^\s,;]+\.(?:parquet|json))")
"""The name of a file in an error message of Spark."""
_CAUSED: Final = "Caused by: "
_IN_PYTHON: Final = "An exception was thrown from the Python worker"
_UNLIKE: Final = {
    "No module named '([^'.]+)": "Python of Spark's executors lacks the package {}",
    'Cannot run program "([^"]+)"': "Spark's executors have no program {}",
    r"\[PYTHON_VERSION_MISMATCH\].*?(\d+\.\d+).*?\d+\.\d+": "Spark's executors run Python {}, not that of this process",
}
"""What Spark says where executors cannot run our tasks, and a sentence for it."""


@contextmanager
def in_one_sentence(lake: str, *, is_in_parts: bool = False) -> Iterator[None]:
    """Turn errors of a job on a lake into an OffsetsToolError with a remedy; a closed pipe stays a BrokenPipeError.

    `is_in_parts`: of a job that changes table after table, or micro-batch after micro-batch, what was done before it failed holds.
    """
    standing = _PART_COUNTS if is_in_parts else _UNCOMMITTED
    try:
        yield
    except (UsageError, LakeInUse, SetupError, BrokenPipeError):
        raise
    except SourceError as error:
        raise with_remedy(error, lake) from error
    except OffsetsToolError as error:
        # An error of the disk in a task arrives as text.
        if said := _of_disk(lake, str(error), standing):
            raise OffsetsToolError(said) from error
        raise
    except _FOREIGN as error:
        raise OffsetsToolError(_sentence(lake, error, standing)) from error


def _sentence(lake: str, error: BaseException, standing: str) -> str:
    said, root = str(error), as_path(lake).absolute()
    named = (Path("/", unquote(name)) for name in _NAMED.findall(said))
    if found := damage_of_lake(root, named):
        return f"{found.path}: {found.reason}; {remedy_for(root, found.path)}"
    if of_disk := _of_disk(lake, said, standing):
        return of_disk
    if is_stored(root) and (known := meant_refusal(str(root), said)):
        return f"{known}; {standing}"
    if unlike := _of_executors(said, standing):
        return unlike
    if isinstance(error, Py4JNetworkError | ConnectionError):
        return f"Spark's JVM ended before its work was done; {standing}: free some memory, and run the same command again"
    return f"it could not be done ({in_words(error)}); {standing}: run the same command again"


def _of_disk(lake: str, said: str, standing: str) -> str | None:
    found = _DISK.search(said)
    if found is None:
        return None
    if "space" in found[0] or "quota" in found[0]:
        remedy = "make room there (and for temporary files), and run the same command again"
    else:
        remedy = "let this user write there, and run the same command again"
    return f"{lake} cannot be written or read ({found[0]}); {standing}: {remedy}"


def _of_executors(said: str, standing: str) -> str | None:
    for sign, sentence in _UNLIKE.items():
        if found := re.search(sign, said, re.DOTALL):
            return (
                f"{sentence.format(found[1])}; {standing}: let PYSPARK_PYTHON name a Python there that is as the one here, "
                "with the same packages; docs/clusters.md says how they get it"
            )
    return None


def in_words(error: BaseException) -> str:
    """Return the first line of an error's message; for an error in Java, of its cause; for one of a task, the last line."""
    if not isinstance(error, Py4JJavaError):
        return str(error).strip().rpartition("\n")[2] if _IN_PYTHON in str(error) else first_line(error)
    _, caused, cause = str(error).rpartition(_CAUSED)
    return (cause if caused else str(error.java_exception)).strip().partition("\n")[0]


def is_of_files(error: Py4JJavaError) -> bool:
    """Return whether Spark failed because of the lake's files, and not because of the question."""
    return any(sign in str(error) for sign in ("file:/", "FAILED_READ_FILE", "[DELTA_"))
