"""Findings of log partitions as a whole are in a lake those of the command line by the view of the evidence, cluster by cluster."""

import shutil
from pathlib import Path
from random import Random

import pytest

from spark.run import run_findings
from tests.corpora import CORPORA, REPLICATED
from tests.log.encoded_batches import record, v2
from tests.spark.derived.test_findings import findings_of_command, found
from tests.spark.lakes import ingest_here, no_session
from tests.spark.replay.test_copies import copies_of, replay_here

DAMAGED = ("2.4.1-mix", "3.9.2-txn")
SEEDS = [1, *(pytest.param(seed, marks=pytest.mark.deep) for seed in range(2, 40))]
OF_LOG = {"unreadable_records", "foreign_records", "records_abandoned", "copies_contradict"}


def job(lake: Path) -> None:
    assert not replay_here(lake).problems
    assert not run_findings(str(lake), no_session).problems


def of_log(lake: Path) -> set[str]:
    return {each.kind for each in found(lake) if each.group is None}


def foreign(log_offset: int) -> bytes:
    """Return a batch with a record of an unknown type, of a later leader epoch than all others."""
    return v2(log_offset, [record(0, b"\x00\x63who", b"what")], leader_epoch=99)


def damaged(data: bytes, random: Random) -> bytes:
    """Return a log with random damage: bytes flipped or lost, another base offset or epoch, a foreign record, a torn end."""
    made = bytearray(data)
    at = random.randrange(len(made))
    match random.randrange(7):
        case 0:
            made[at] ^= 1 << random.randrange(8)
        case 1:
            made[at : at + 200] = bytes(min(200, len(made) - at))
        case 2:
            del made[at : at + random.randrange(1, 300)]
        case 3:
            made[6] ^= 0x40
        case 4:
            made[15] ^= 4
        case 5:
            made += foreign(10_000)
        case _:
            made += random.randbytes(random.randrange(1, 90))
    return bytes(made)


def damaged_copy(folder: Path, corpus: str, random: Random) -> Path:
    shutil.copytree(CORPORA / corpus / "segments", folder)
    for log in sorted(folder.rglob("*.log")):
        for _ in range(random.randrange(4)):
            log.write_bytes(damaged(log.read_bytes(), random))
    return folder


@pytest.mark.parametrize("seed", SEEDS)
def test_damage(tmp_path: Path, seed: int) -> None:
    """Of a copy alone, of one beside a whole one, and of one that was given twice: each a cluster."""
    random = Random(seed)
    corpus = random.choice(DAMAGED)
    alone = damaged_copy(tmp_path / "alone", corpus, random)
    clusters = {
        "alone": [alone],
        "beside": [alone, CORPORA / corpus / "segments"],
        "twice": [alone, Path(shutil.copytree(alone, tmp_path / "again"))],
    }
    lake = tmp_path / "lake"
    for cluster, paths in clusters.items():
        ingest_here(lake, *paths, cluster=cluster)
    job(lake)
    assert found(lake) == [
        each
        for cluster in sorted(clusters)
        for each in findings_of_command(*clusters[cluster], "--view", "evidence")
    ]
    assert of_log(lake) & OF_LOG


def test_a_fork(tmp_path: Path) -> None:
    copies = copies_of(REPLICATED / "4.1.2-unclean")
    ingest_here(tmp_path, *copies, cluster="c")
    job(tmp_path)
    assert found(tmp_path) == findings_of_command(*copies, "--view", "evidence")
    assert "records_abandoned" in of_log(tmp_path)
