"""The embedded databases without the service, for backups and restores while `memsync up` does not run."""

import argparse
import contextlib
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from memsync import instance
from memsync.launcher.embedded.errors import UnusableDirectory
from memsync.launcher.embedded.lock_file import holder
from memsync.launcher.secret_files import keeps_own_kek, write_secrets
from memsync.launcher.supervisor import Supervisor


def is_needed() -> bool:
    """Whether nothing runs that could be asked, and nothing else was named."""
    return not instance.given("DATABASE_URL") and holder(instance.home()) is None


@contextmanager
def databases() -> Iterator[None]:
    """Start the embedded server, and name its databases in the environment.  Raises EmbeddedError: AlreadyRunning while
    the service runs."""
    supervisor = Supervisor(argparse.Namespace(host="127.0.0.1", port=0, workers=1, json=True, reissue=False))
    try:
        os.environ |= supervisor.open_databases()
        yield
    finally:
        supervisor.close()


def settle_for(arguments: Sequence[str]) -> None:
    """Make a new home ready for the backups that a command line names.  Raises UnusableDirectory without the key that
    wrapped their keys: a new one would open nothing."""
    home = instance.home()
    if keeps_own_kek() and not (home / instance.KEK_FILE).exists():
        raise UnusableDirectory(
            f"{home / instance.KEK_FILE} is missing: put your copy there first. Without it no backup can be decrypted."
        )
    deployment = _deployment_of(arguments)
    if deployment and not (home / instance.SECRETS_FILE).exists():
        write_secrets(home, deployment)


def _deployment_of(arguments: Sequence[str]) -> str | None:
    """As the manifest of the first backup among the arguments says it; None where none is one."""
    for argument in arguments:
        with contextlib.suppress(OSError, ValueError):
            said = instance.read(Path(argument.rpartition("=")[2]).with_suffix(".json")).get("deployment")
            if said:
                return str(said)
    return None
