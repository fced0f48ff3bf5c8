"""`offsets-tool report` as a person uses it: a file that is written whole, never over the evidence, and what it says of it."""

import hashlib
import os
import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from offsets_tool.cli import main
from offsets_tool.cli.render import write_whole
from offsets_tool.errors import SetupError
from tests.absurd_times import write_absurd_times
from tests.corpora import CORPORA, INCIDENTS
from tests.depth import DEEP
from tests.report.pages import MOST, Parsed

RESET = INCIDENTS / "reset-to-earliest" / "segments"
pytestmark = pytest.mark.slow


def report(*arguments: object) -> Result:
    return CliRunner().invoke(main, ["report", *map(str, arguments)])


def test_a_file_and_a_line_that_says_what_is_in_it(tmp_path: Path) -> None:
    file = tmp_path / "incident.html"
    done = report(RESET, "--group", "payments", "-o", file)
    assert (done.exit_code, done.stdout) == (0, "")
    page = file.read_bytes()
    assert done.stderr.splitlines()[-1] == (
        f"{file}: {len(page):,} bytes, 1 warning, 1 group in detail, 12 events"
    )
    again = report(RESET, "--group", "payments", "-o", tmp_path / "again.html")
    assert again.exit_code == 0 and (tmp_path / "again.html").read_bytes() == page
    assert {path.name for path in tmp_path.iterdir()} == {"incident.html", "again.html"}


def test_the_commands_of_the_page_are_those_that_were_typed(tmp_path: Path) -> None:
    server_log = INCIDENTS / "reset-to-earliest" / "group-coordinator.log"
    typed = ["--group", "payments", "--retention", "7d", "--server-log", server_log, "--plan-as-of", "1:40"]
    done = report(RESET, *typed, "--since", "1:5", "-o", tmp_path / "a.html")
    assert done.exit_code == 0, done.stderr
    text = Parsed((tmp_path / "a.html").read_text()).text
    plan = f"offsets-tool plan {RESET} --retention 7d --group payments --as-of 1:40 --format csv --output reset.csv"
    assert plan in text
    assert f"offsets-tool report {RESET} --retention 7d --server-log {server_log} --group payments" in text
    assert (
        "not a time of day" in done.stderr and "not a time of day" not in text
    )  # It names the day of today.
    assert "The moment 1:40 was asked for." in text and "since 1:5" in text
    command = text[text.index("offsets-tool plan ") : text.index(" --format csv")].split()[1:]
    assert CliRunner().invoke(main, command).exit_code == 0


def test_the_evidence_is_not_written_over(tmp_path: Path) -> None:
    folder = shutil.copytree(RESET, tmp_path / "segments")
    (log, *_) = folder.rglob("*.log")
    digest = hashlib.sha256(log.read_bytes()).hexdigest()
    done = report(folder, "-o", log)
    assert done.exit_code == 2 and "is part of the evidence" in done.stderr
    assert hashlib.sha256(log.read_bytes()).hexdigest() == digest


def test_nothing_is_written_where_something_is_wrong(tmp_path: Path) -> None:
    file = tmp_path / "a.html"
    file.write_text("kept")
    assert report(tmp_path / "nothing", "-o", file).exit_code == 1
    assert report(RESET, "--since", "nonsense", "-o", file).exit_code == 2
    assert report(RESET, "--plan-as-of", "nonsense", "-o", file).exit_code == 2
    assert report(RESET, "-o", tmp_path / "no" / "folder.html").exit_code == 1
    assert file.read_text() == "kept" and [path.name for path in tmp_path.iterdir()] == ["a.html"]


def test_written_whole(tmp_path: Path) -> None:
    file, link = tmp_path / "a", tmp_path / "link"
    file.write_text("before")
    file.chmod(0o640)
    link.symlink_to(file)
    write_whole(str(link), b"after")
    assert file.read_bytes() == b"after" and link.is_symlink() and file.stat().st_mode & 0o777 == 0o640
    write_whole(os.devnull, b"nothing")
    with pytest.raises(SetupError, match="cannot be written"):
        write_whole(str(tmp_path / "no" / "folder"), b"")


def test_a_group_that_is_not_there(tmp_path: Path) -> None:
    done = report(RESET, "--group", "paymnts", "-o", tmp_path / "a.html")
    assert done.exit_code == 0 and "nearest: 'payments'" in done.stderr


@pytest.mark.parametrize("name", ["absurd", "4.3.1-kip848"])
def test_odd_logs_have_a_page(name: str, tmp_path: Path) -> None:
    log = write_absurd_times(tmp_path / "log") if name == "absurd" else CORPORA / name / "segments"
    few = [] if DEEP or name == "absurd" else ["--group", "sessions-*", "--group", "audit-*"]
    done = report(log, *few, "-o", tmp_path / "a.html")
    assert done.exit_code == 0, done.stderr
    page = Parsed((tmp_path / "a.html").read_text())
    assert {link[1:] for link in page.links} <= set(page.ids) and (tmp_path / "a.html").stat().st_size < MOST
