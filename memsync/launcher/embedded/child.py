"""Wrapper script that starts a child: take its identity, tie its life to the parent's, then exec the command.

    child.py IDENTITY SIGNAL PARENT NICENESS COMMAND...

It is a program, not a function called after fork, because the parent already has threads.  It imports little, so that
it takes only some ten milliseconds.  IDENTITY is ``same``, ``namespace:UID:GID`` or ``account:UID:GID``; the latter two
are for PostgreSQL, which refuses to run as root.
"""

import ctypes
import os
import resource
import sys
import time

CLONE_NEWUSER = 0x10000000
PR_SET_PDEATHSIG = 1
PR_SET_KEEPCAPS = 8
PR_CAP_AMBIENT = 47
PR_CAP_AMBIENT_RAISE = 2
CAP_DAC_OVERRIDE = 1
CAPABILITY_VERSION_3 = 0x20080522

_libc = ctypes.CDLL(None, use_errno=True)


def main(identity: str, deadly: str, parent: str, niceness: str, *command: str) -> None:
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))  # a core file would hold keys and text
    step_back(int(niceness))
    kind, _, ids = identity.partition(":")
    if kind == "namespace":
        enter_namespace(*map(int, ids.split(":")))
    elif kind == "account":
        become(*map(int, ids.split(":")))
    # Set it after the change of identity, which clears it.  Then check the parent, which may have died before the call.
    if sys.platform == "linux":
        _check(_libc.prctl(PR_SET_PDEATHSIG, int(deadly), 0, 0, 0))
    if os.getppid() != int(parent):
        sys.exit(1)
    os.execv(command[0], command)  # noqa: S606


def step_back(niceness: int) -> None:
    """Lower the process's priority, and its session's.

    Where Linux schedules by session (autogroup), only the session's value counts.  All users together may set it ten
    times a second.
    """
    if not niceness:
        return
    os.nice(niceness)
    for _ in range(5):
        try:
            with open("/proc/self/autogroup", "w") as handle:
                handle.write(str(niceness))
        except BlockingIOError:
            time.sleep(0.1)
        except OSError:
            return
        else:
            return


def enter_namespace(uid: int, gid: int) -> None:
    """Enter a user namespace in which the process has this uid, while its files still belong to root."""
    _check(_libc.unshare(CLONE_NEWUSER))
    for file, line in (("setgroups", "deny"), ("uid_map", f"{uid} 0 1"), ("gid_map", f"{gid} 0 1")):
        with open(f"/proc/self/{file}", "w") as handle:
            handle.write(line)


def become(uid: int, gid: int) -> None:
    """Switch to an account permanently, keeping only the capability to reach files in root's directories."""
    os.setgroups([])
    os.setgid(gid)
    _check(_libc.prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0))
    os.setuid(uid)
    header = (ctypes.c_uint32 * 2)(CAPABILITY_VERSION_3, 0)
    low = 1 << CAP_DAC_OVERRIDE
    _check(_libc.capset(header, (ctypes.c_uint32 * 6)(low, low, low, 0, 0, 0)))  # effective, permitted, inheritable
    _check(_libc.prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, CAP_DAC_OVERRIDE, 0, 0))


def _check(result: int) -> None:
    if result != 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


if __name__ == "__main__":
    main(*sys.argv[1:])
