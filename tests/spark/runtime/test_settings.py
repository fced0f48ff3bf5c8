"""Spark's settings of others are found where spark-submit looks for them, and one of these stands above another as there."""

from pathlib import Path

import pytest

from offsets_tool.errors import SetupError, UsageError
from spark.runtime.session import session
from spark.runtime.settings import is_local, settings_of_others

FILE = """
# What a platform team has set.
spark.master            spark://file:7077
spark.executor.memory=4g
  spark.jars : /opt/a.jar,/opt/b.jar
spark.driver.extraJavaOptions -Da=b -Dc=d
!spark.ui.enabled false

spark.empty
"""
OF_FILE = {
    "spark.master": "spark://file:7077",
    "spark.executor.memory": "4g",
    "spark.jars": "/opt/a.jar,/opt/b.jar",
    "spark.driver.extraJavaOptions": "-Da=b -Dc=d",
}
VARIABLES = ("MASTER", "SPARK_MASTER", "PYSPARK_SUBMIT_ARGS", "SPARK_CONF_DIR", "SPARK_REMOTE")


@pytest.fixture(autouse=True)
def alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("SPARK_CONF_DIR", str(tmp_path))
    return tmp_path


@pytest.mark.parametrize(
    ("variables", "has_file", "expected"),
    [
        ({}, False, {}),
        ({}, True, OF_FILE),
        ({"MASTER": "yarn"}, False, {"spark.master": "yarn"}),
        ({"SPARK_MASTER": "yarn"}, False, {"spark.master": "yarn"}),
        ({"SPARK_MASTER": "no", "MASTER": "yarn"}, False, {"spark.master": "yarn"}),
        ({"MASTER": "yarn"}, True, OF_FILE),
        (
            {
                "PYSPARK_SUBMIT_ARGS": "--master yarn --conf spark.a=b=c -c 'spark.d=e f' --name x pyspark-shell"
            },
            True,
            {**OF_FILE, "spark.master": "yarn", "spark.a": "b=c", "spark.d": "e f"},
        ),
        ({"PYSPARK_SUBMIT_ARGS": "--conf=spark.master=yarn pyspark-shell"}, False, {"spark.master": "yarn"}),
    ],
)
def test_they_are_found(
    alone: Path,
    monkeypatch: pytest.MonkeyPatch,
    variables: dict[str, str],
    has_file: bool,
    expected: dict[str, str],
) -> None:
    if has_file:
        (alone / "spark-defaults.conf").write_text(FILE)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert settings_of_others() == expected


def test_another_file_stands_for_the_defaults(alone: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (alone / "spark-defaults.conf").write_text(FILE)
    (alone / "other.conf").write_text("spark.master yarn")
    monkeypatch.setenv("PYSPARK_SUBMIT_ARGS", f"--properties-file {alone / 'other.conf'} pyspark-shell")
    assert settings_of_others() == {"spark.master": "yarn"}


def test_a_file_that_cannot_be_read_is_said(alone: Path) -> None:
    (alone / "spark-defaults.conf").write_bytes(b"\xff\xfe")
    with pytest.raises(SetupError, match=r"spark-defaults\.conf, which has Spark's settings, cannot be read"):
        settings_of_others()


def test_two_names_of_a_server_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SPARK_REMOTE", "sc://one")
    with pytest.raises(UsageError, match="SPARK_REMOTE names sc://one, and --master local: leave out one"):
        session(master="local")


@pytest.mark.parametrize(
    ("master", "here"),
    [
        ("local", True),
        ("local[*]", True),
        ("local[4,2]", True),
        ("local-cluster[2,1,1024]", False),
        ("spark://local:7077", False),
        ("yarn", False),
        ("k8s://https://local:443", False),
        ("", False),
    ],
)
def test_what_is_no_cluster(master: str, here: bool) -> None:
    assert is_local(master) is here
