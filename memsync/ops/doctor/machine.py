"""Checks of this machine: versions, the files of the home, the disk, and the processes of `memsync up`."""

import platform
import shutil
import stat
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path

from django.conf import settings

from memsync import instance
from memsync.ops.doctor.findings import GIB, DoctorFinding, Visit, fail, ok, warn

FREE_WARN, FREE_FAIL = 2 * GIB, GIB // 4


def check_versions(visit: Visit) -> Iterator[DoctorFinding]:
    """The versions of memsync, Python and the most important libraries."""
    names = ("django", "celery", "cryptography", "psycopg")
    of_libraries = ", ".join(f"{name} {version(name)}" for name in names)
    yield ok("versions", f"memsync {version('memsync')}, Python {platform.python_version()}, {of_libraries}")


def check_files(visit: Visit) -> Iterator[DoctorFinding]:
    """Whether only their owner can read secrets, keys and data."""
    home = Path(settings.MEMSYNC_HOME)
    private = [home, home / instance.SECRETS_FILE, home / instance.INSTANCE_FILE, home / "logs", home / "postgres"]
    private += [home / "postgres" / "superuser", Path(settings.KMS["OPTIONS"].get("path") or home / instance.KEK_FILE)]
    there = [path for path in private if path.exists()]
    open_to_others = [path for path in there if stat.S_IMODE(path.stat().st_mode) & 0o077]
    for path in open_to_others:
        mode = "700" if path.is_dir() else "600"
        yield fail("files", f"{path} is accessible to other users", f"chmod {mode} {path}, and renew what it holds.")
    if not open_to_others:
        yield ok("files", f"{len(there)} files and directories of {home} are their owner's alone")


def check_disk(visit: Visit) -> Iterator[DoctorFinding]:
    """Whether the disk of the home has space left."""
    home = Path(settings.MEMSYNC_HOME)
    free = shutil.disk_usage(home if home.exists() else home.anchor).free
    said = f"{free / GIB:.1f} GiB free for {home}"
    if free < FREE_FAIL:
        yield fail("disk", said, "Free some space now: a full disk stops the database.")
    elif free < FREE_WARN:
        yield warn("disk", said, "Free some space.")
    else:
        yield ok("disk", said)


def check_processes(visit: Visit) -> Iterator[DoctorFinding]:
    """The processes of `memsync up`, if it runs here; other processes are known only to what started them."""
    running = instance.running().get("processes", {})
    for name, process in running.items():
        if not Path(f"/proc/{process['pid']}").exists():
            yield fail("processes", f"{name} does not run", "`memsync up` starts it again; see its log in the home.")
        elif process["restarts"]:
            yield warn("processes", f"{name} was restarted {process['restarts']} times", "See its log in the home.")
    if not running:
        yield ok("processes", "not started by `memsync up`")
    elif all(Path(f"/proc/{process['pid']}").exists() for process in running.values()):
        yield ok("processes", f"{', '.join(running)} run")
