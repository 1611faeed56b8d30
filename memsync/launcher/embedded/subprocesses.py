"""Start child processes that end with their parent; when running as root, under an account without privileges."""

import contextlib
import os
import pwd
import signal
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO

CHILD = Path(__file__).with_name("child.py")


@dataclass(frozen=True)
class Identity:
    """The identity under which the server runs, since PostgreSQL refuses root.

    In a user namespace root appears as `nobody`, while its files still belong to root.  Where namespaces are forbidden,
    as in most containers, the process switches to that account and keeps one capability of root, to reach files in
    directories that only root can enter; the data directory is then given to the account.
    """

    account: pwd.struct_passwd | None = None
    namespace: bool = False

    def __str__(self) -> str:
        if self.account is None:
            return "same"
        return f"{'namespace' if self.namespace else 'account'}:{self.account.pw_uid}:{self.account.pw_gid}"


def unprivileged_accounts() -> list[pwd.struct_passwd]:
    """System accounts under which root may run a server."""
    found = []
    for name in ("nobody", "postgres"):
        with contextlib.suppress(KeyError):
            found.append(pwd.getpwnam(name))
    return found


def spawn(
    command: list[str],
    *,
    stdout: IO[bytes] | int,
    stderr: IO[bytes] | int,
    cwd: Path,
    environment: Mapping[str, str],
    deadly: signal.Signals,
    identity: Identity | None = None,
    niceness: int = 0,
) -> subprocess.Popen[bytes]:
    """Start a child in its own session, so that Ctrl-C reaches only us.  It gets `deadly` when this process dies."""
    prepared = [str(identity or Identity()), str(int(deadly)), str(os.getpid()), str(niceness)]
    return subprocess.Popen(
        [sys.executable, "-I", "-S", str(CHILD), *prepared, *command],
        cwd=cwd,
        stdin=subprocess.DEVNULL,
        stdout=stdout,
        stderr=stderr,
        env=dict(environment),
        start_new_session=True,
    )
