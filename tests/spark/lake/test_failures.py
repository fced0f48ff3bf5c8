"""What Spark says of executors that cannot run a task is one sentence; what it says of a task is its last line."""

import pytest
from pyspark.errors import PythonException

from offsets_tool.errors import OffsetsToolError
from spark.lake.failures import in_one_sentence

IN_TASK = """An exception was thrown from the Python worker:
Traceback (most recent call last):
  File "pyspark.zip/pyspark/worker.py", line 2530, in read_udfs
"""


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        (
            f"{IN_TASK}    import pyarrow as pa\nModuleNotFoundError: No module named 'pyarrow'",
            "Python of Spark's executors lacks the package pyarrow;",
        ),
        (
            f"{IN_TASK}ModuleNotFoundError: No module named 'numba.core'",
            "Python of Spark's executors lacks the package numba;",
        ),
        (
            'Job aborted due to stage failure: java.io.IOException: Cannot run program "./e/bin/python": error=2',
            "Spark's executors have no program ./e/bin/python;",
        ),
        (
            "[PYTHON_VERSION_MISMATCH] Python in worker has different version: 3.9 than that in driver: 3.12",
            "Spark's executors run Python 3.9, not that of this process;",
        ),
        (f"{IN_TASK}    raise KeyError\nKeyError: 'a'", "it could not be done (KeyError: 'a');"),
    ],
)
def test_what_executors_lack_is_said(
    tmp_path_factory: pytest.TempPathFactory, said: str, expected: str
) -> None:
    lake = str(tmp_path_factory.mktemp("lake"))
    with pytest.raises(OffsetsToolError) as raised, in_one_sentence(lake):
        raise PythonException(said)
    assert str(raised.value).startswith(expected)
    assert ("PYSPARK_PYTHON" in str(raised.value)) is not expected.startswith("it could")
