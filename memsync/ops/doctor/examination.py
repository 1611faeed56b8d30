"""The list of checks in order, and a runner in which a failing check does not hide the next."""

from collections.abc import Callable, Iterator
from datetime import datetime
from typing import Final

from memsync.ops.doctor import background_work, databases, keys_and_models, machine
from memsync.ops.doctor.findings import HINTS, DoctorFinding, Visit, fail

PATIENCE: Final = 8.0  # seconds; beat triggers the outbox every two

PARTS: Final[dict[str, Callable[[Visit], Iterator[DoctorFinding]]]] = {
    "versions": machine.check_versions,
    "files": machine.check_files,
    "disk": machine.check_disk,
    "processes": machine.check_processes,
    "settings": databases.check_settings,
    "database": databases.check_database,
    "connections": databases.check_free_connections,
    "keyring": databases.check_keyring_database,
    "walls": databases.check_walls,
    "clock": databases.check_clock,
    "key provider": keys_and_models.check_key_provider,
    "keys": keys_and_models.check_keys,
    "rows that grant": keys_and_models.check_rows_that_grant,
    "embedder": keys_and_models.check_embedder,
    "classifier": keys_and_models.check_classifier,
    "broker": background_work.check_broker,
    "outbox": background_work.check_outbox,
    "worker and beat": background_work.check_worker_and_beat,
    "queues": background_work.check_queues,
    "quarantine": keys_and_models.check_quarantine,
}


def examine(*, now: datetime, patience: float = PATIENCE) -> Iterator[DoctorFinding]:
    """All findings, in the order in which one would fix problems: files, settings, databases, keys, work."""
    for part, look in PARTS.items():
        try:
            yield from look(Visit(now, patience))
        except Exception as error:  # noqa: BLE001  (whatever is wrong with one part, the others are looked at)
            # Only the error's class: a database's message may quote a row, and a driver's an address.
            yield fail(part, f"could not be checked: {type(error).__name__}", HINTS.get(part, "See the logs."))
