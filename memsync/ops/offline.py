"""Embedded databases without the service, for backups and restores while `memsync up` does not run."""

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
    """Whether the embedded databases must be started: none is configured by DATABASE_URL, and no service runs."""
    return not instance.given("DATABASE_URL") and holder(instance.home()) is None


@contextmanager
def databases() -> Iterator[None]:
    """Start the embedded server and set the environment to its databases.  Raises EmbeddedError.

    AlreadyRunning: the service runs.
    """
    supervisor = Supervisor(argparse.Namespace(host="127.0.0.1", port=0, workers=1, json=True, reissue=False))
    try:
        os.environ |= supervisor.open_databases()
        yield
    finally:
        supervisor.close()


def settle_for(arguments: Sequence[str]) -> None:
    """Prepare a new home for restoring the backups named in the arguments.

    Raises UnusableDirectory if the key that wrapped their keys is missing, since a new one could decrypt nothing.
    """
    home = instance.home()
    if keeps_own_kek() and not (home / instance.KEK_FILE).exists():
        raise UnusableDirectory(
            f"{home / instance.KEK_FILE} is missing: put your copy there first. Without it no backup can be decrypted."
        )
    deployment = _deployment_of(arguments)
    if deployment and not (home / instance.SECRETS_FILE).exists():
        write_secrets(home, deployment)


def _deployment_of(arguments: Sequence[str]) -> str | None:
    """The deployment id in the manifest of the first backup among the arguments, or None."""
    for argument in arguments:
        with contextlib.suppress(OSError, ValueError):
            said = instance.read(Path(argument.rpartition("=")[2]).with_suffix(".json")).get("deployment")
            if said:
                return str(said)
    return None
