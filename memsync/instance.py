"""The files of one embedded instance in ``MEMSYNC_HOME``, for their owner only.  No Django: `memsync up` is fast.

secrets.json     made once: secret key, deployment id, the roles' passwords.  Losing it loses the data.
kek.json         made once: the key that wraps the data keys.  Losing it loses the data.
postgres/        the database server's directory
instance.json    while it runs: its address, and the environment in which other commands reach it
lock             held by the supervisor
logs/            one file of JSON lines per process
"""

import json
import os
import secrets
from pathlib import Path
from typing import Any

INSTANCE_FILE = "instance.json"
SECRETS_FILE = "secrets.json"
KEK_FILE = "kek.json"


def home() -> Path:
    """The directory that holds the embedded database, keys, models and logs (``MEMSYNC_HOME``)."""
    return Path(os.environ.get("MEMSYNC_HOME") or ".memsync").resolve()


def given(name: str) -> bool:
    """Whether the environment sets NAME or ``NAME_FILE``."""
    return bool(os.environ.get(name) or os.environ.get(f"{name}_FILE"))


def read(path: Path) -> dict[str, Any]:
    """The JSON object in a file; empty if the file is missing.  Raises ValueError if it is damaged."""
    try:
        content: dict[str, Any] = json.loads(path.read_text())
    except FileNotFoundError:
        return {}
    return content


def running() -> dict[str, Any]:
    """The state file of the running instance; empty if there is none or it is damaged."""
    try:
        return read(home() / INSTANCE_FILE)
    except ValueError:
        return {}


def write(path: Path, content: dict[str, Any]) -> None:
    """Replace the file atomically, mode 0600; the data is on disk before the rename."""
    aside = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    descriptor = os.open(aside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(descriptor, "w") as file:
            file.write(json.dumps(content, indent=2) + "\n")
            file.flush()
            os.fsync(file.fileno())
        aside.replace(path)
    finally:
        aside.unlink(missing_ok=True)


def fill_environment() -> None:
    """Set what the environment lacks from the running instance, so that other commands reach it.

    With ``DATABASE_URL`` set nothing is embedded, and only values that are not addresses are taken.
    """
    external = given("DATABASE_URL")
    for name, value in running().get("environment", {}).items():
        if not given(name) and not (external and name.endswith("_URL")):
            os.environ[name] = str(value)
