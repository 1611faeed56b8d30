"""Child processes: start them so that they die with us, and, where we are root, as an account without privileges."""

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
    """Who the server runs as, since PostgreSQL refuses root.

    In a user namespace root is seen as `nobody`, while its files stay root's own.  Where namespaces are forbidden, as
    in most containers, the process becomes that account in earnest and keeps one capability of root's, to reach files
    in directories that are root's alone; then the data directory is given to the account.
    """

    account: pwd.struct_passwd | None = None
    namespace: bool = False

    def __str__(self) -> str:
        if self.account is None:
            return "same"
        return f"{'namespace' if self.namespace else 'account'}:{self.account.pw_uid}:{self.account.pw_gid}"


def unprivileged_accounts() -> list[pwd.struct_passwd]:
    """The accounts of this system that may run a server in place of root."""
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
    """Start a child that gets `deadly` when this process dies, in a session of its own: Ctrl-C reaches only us."""
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
