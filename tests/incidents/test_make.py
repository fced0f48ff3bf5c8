"""The incidents can be made again: one of them is, and what must be found is found in it."""

from pathlib import Path

import pytest

from tests.incidents.__main__ import main
from tests.incidents.expectations import unmet


@pytest.mark.broker
@pytest.mark.java
def test_an_incident_made_again_is_found_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    name = "admin-turns-back-one-partition"
    monkeypatch.setattr("sys.argv", ["incidents", name, "--into", str(tmp_path)])
    assert main() == 0
    assert unmet(tmp_path / name) == []
    assert "alterConsumerGroupOffsets" in (tmp_path / name / "story.md").read_text()


def test_an_incident_that_there_is_not(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.argv", ["incidents", "no-such", "--into", "nowhere"])
    with pytest.raises(SystemExit):
        main()
    assert "there is no incident no-such; there are " in capsys.readouterr().err
