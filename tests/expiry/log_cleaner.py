"""What the log cleaner leaves of a log: of each key the newest record that counts. Knows keys, offsets and transactions."""

from random import Random

from tests.replay.random_logs import CONTROL, TRANSACTIONAL, Placed


def cleaned(placed: list[Placed], random: Random) -> list[Placed]:
    """Return a log after its first part was cleaned: newest committed records, markers, and at random the tombstones.

    The cleaner stops before the first open transaction. Batches that lose all their records vanish.
    """
    head = placed[: random.randint(0, stable(placed))]
    aborted = _aborted(placed)
    newest = {key: at for batch in head for at, key, _ in batch.records if at not in aborted}
    old_tombstones = random.random() < 0.3
    kept = []
    for batch in head:
        records = tuple(
            (at, key, value)
            for at, key, value in batch.records
            if batch.attributes & CONTROL
            or (at not in aborted and newest[key] == at and not (old_tombstones and value is None))
        )
        if records:
            kept.append(batch._replace(records=records))
    return [*kept, *placed[len(head) :]]


def stable(placed: list[Placed]) -> int:
    """Return how many batches come before the first whose transaction never ends."""
    ended = {batch.producer[0]: number for number, batch in enumerate(placed) if batch.attributes & CONTROL}
    open_ = (
        number
        for number, batch in enumerate(placed)
        if batch.attributes & TRANSACTIONAL and ended.get(batch.producer[0], -1) < number
    )
    return next(open_, len(placed))


def _aborted(placed: list[Placed]) -> set[int]:
    """Return the offsets of records whose transaction was aborted."""
    aborted: set[int] = set()
    waiting: dict[int, list[int]] = {}
    for batch in placed:
        offsets = [at for at, _, _ in batch.records]
        if batch.attributes & CONTROL:
            [(_, key, _)] = batch.records
            ended = waiting.pop(batch.producer[0], [])
            aborted.update(ended if key.endswith(b"\0") else ())
        elif batch.attributes & TRANSACTIONAL:
            waiting.setdefault(batch.producer[0], []).extend(offsets)
    return aborted
