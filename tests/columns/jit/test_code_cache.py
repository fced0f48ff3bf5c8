"""Machine code is kept where nobody else may change it, and loaded from nowhere else: a table of traps."""

import os
import stat
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner

from offsets_tool.cli import main
from offsets_tool.columns.jit import code_cache
from tests.corpora import FIXTURES

SOMEBODY = 12345
NAME = "sample.native"
Trap = Callable[[Path], object]


@pytest.fixture(autouse=True)
def _fresh(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(code_cache, "_refused", [])
    code_cache._kept_folder.cache_clear()
    yield
    code_cache._kept_folder.cache_clear()


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder below one that is ours, not made yet."""
    made = tmp_path / "above" / "kept"
    made.parent.mkdir(mode=0o700)
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(made))
    return made


def given_away(path: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root can make a file somebody else's")
    os.chown(path, SOMEBODY, SOMEBODY)


def linked(path: Path) -> None:
    """Put a link to another file of ours, which is whole, in the place of the file."""
    path.rename(path.with_name("real"))
    path.symlink_to("real")


def in_place_of(make: Trap) -> Trap:
    def put(path: Path) -> None:
        path.unlink()
        make(path)

    return put


FILES: dict[str, Trap] = {
    "somebody else's": given_away,
    "writable by all": lambda path: path.chmod(0o666),
    "writable by a group": lambda path: path.chmod(0o660),
    "a symbolic link": linked,
    "with another name": lambda path: path.with_name("other").hardlink_to(path),
    "a pipe": in_place_of(os.mkfifo),
    "a folder": in_place_of(Path.mkdir),
}


@pytest.mark.parametrize("trap", FILES.values(), ids=FILES.keys())
def test_a_file_that_others_may_have_made_is_not_loaded(folder: Path, trap: Trap) -> None:
    code_cache.store(NAME, b"ours")
    assert (code_cache.read_cached(NAME), code_cache.why_not_cached()) == (b"ours", None)
    trap(folder / NAME)
    assert code_cache.read_cached(NAME) is None
    assert str(folder / NAME) in str(code_cache.why_not_cached()) and "not loaded" in str(
        code_cache.why_not_cached()
    )
    code_cache.store(NAME, b"anew")
    assert code_cache.read_cached(NAME) == (None if (folder / NAME).is_dir() else b"anew")


def as_link(path: Path) -> None:
    """Replace the folder by a link of ours to it, after others may write into it."""
    path.rename(path.with_name("open"))
    path.with_name("open").chmod(0o777)
    path.symlink_to("open")


FOLDERS: dict[str, tuple[Trap, str]] = {
    "somebody else's": (given_away, "belongs to another user"),
    "writable by all": (lambda path: path.chmod(0o777), "may be written by others"),
    "writable by a group": (lambda path: path.chmod(0o775), "may be written by others"),
    "sticky, as /tmp": (lambda path: path.chmod(0o1777), "may be written by others"),
    "a link to one that is open": (as_link, "may be written by others"),
    "below somebody else's": (lambda path: given_away(path.parent), "belongs to another user"),
    "below one that is open": (lambda path: path.parent.chmod(0o777), "may be written by others"),
    "below a group's": (lambda path: path.parent.chmod(0o770), "may be written by others"),
    "not a folder": (lambda path: (path.rmdir(), path.write_bytes(b"")), "cannot be used"),
    "below a file": (
        lambda path: (path.rmdir(), path.parent.rmdir(), path.parent.write_bytes(b"")),
        "cannot be used",
    ),
}


@pytest.mark.parametrize(("trap", "why"), FOLDERS.values(), ids=FOLDERS.keys())
def test_in_a_folder_that_others_may_change_nothing_is_kept(folder: Path, trap: Trap, why: str) -> None:
    folder.mkdir(mode=0o700)
    (folder / NAME).write_bytes(b"planted")
    (folder / NAME).chmod(0o600)
    (folder / NAME).rename(folder.parent.parent / NAME)
    trap(folder)
    if folder.is_dir():
        (folder.parent.parent / NAME).rename(folder / NAME)
    assert code_cache.read_cached(NAME) is None
    code_cache.store(NAME, b"ours")
    assert not folder.is_dir() or (folder / NAME).read_bytes() == b"planted"
    told = str(code_cache.why_not_cached())
    assert why in told and "not kept; let NUMBA_CACHE_DIR name" in told and told.count("\n") == 0


def test_below_a_sticky_folder_it_is_kept_if_it_is_ours(folder: Path) -> None:
    """Others may write to /tmp, but move nothing that is not theirs."""
    folder.parent.chmod(0o1777)
    code_cache.store(NAME, b"ours")
    assert (code_cache.read_cached(NAME), code_cache.why_not_cached()) == (b"ours", None)
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700


@pytest.mark.parametrize("umask", [0, 0o002, 0o022, 0o077])
def test_what_is_made_is_ours_alone(folder: Path, umask: int) -> None:
    before = os.umask(umask)
    try:
        code_cache.store(NAME, b"ours")
    finally:
        os.umask(before)
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert stat.S_IMODE((folder / NAME).stat().st_mode) == 0o600
    assert [path.name for path in folder.iterdir()] == [NAME], "nothing unfinished is left"


def test_on_a_full_disk_nothing_is_left_and_it_is_said(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    code_cache.store(NAME, b"ours")

    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "rename", full)
    code_cache.store(NAME, b"anew")
    assert [path.name for path in folder.iterdir()] == [NAME] and (folder / NAME).read_bytes() == b"ours"
    assert "cannot be written (No space left on device)" in str(code_cache.why_not_cached())


def test_inspect_says_it_once(folder: Path) -> None:
    folder.mkdir(mode=0o700)
    folder.chmod(0o777)
    for name in ("a", "b"):
        code_cache.store(name, b"")
    done = CliRunner().invoke(main, ["inspect", str(FIXTURES / "corpora" / "3.9.2-txn" / "segments")])
    assert done.exit_code == 0
    assert done.stderr.count("may be written by others (mode 777)") == 1


def test_root_does_not_trust_another_users_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As with sudo, which may leave HOME as it was: the next folder is asked, and the last one's fault is said."""
    home = tmp_path / "home"
    home.mkdir(mode=0o700)
    given_away(home)
    monkeypatch.delenv("NUMBA_CACHE_DIR", raising=False)
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setattr(code_cache, "__file__", str(home / "code_cache.py"))
    code_cache.store(NAME, b"")
    assert "belongs to another user" in str(code_cache.why_not_cached())
    assert list(home.iterdir()) == []


def test_an_executor_without_a_home_keeps_it_in_its_own_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """From a zip file, as executors have this package, nothing can be kept beside the module."""
    package, local = tmp_path / "package.zip", tmp_path / "local"
    package.touch()
    local.mkdir(mode=0o700)
    for name in ("NUMBA_CACHE_DIR", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", "/proc/nobody")
    monkeypatch.setenv("SPARK_LOCAL_DIRS", f"{local},/elsewhere")
    monkeypatch.setattr(code_cache, "__file__", str(package / "code_cache.py"))
    code_cache.store(NAME, b"code")
    assert code_cache.read_cached(NAME) == b"code"
    assert (local / "offsets-tool" / NAME).read_bytes() == b"code"
    assert code_cache.why_not_cached() is None
