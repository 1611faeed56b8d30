"""Reading settings: the environment first, then the embedded instance's own file."""

import json
import os
from pathlib import Path
from typing import Any

import environ
from django.core.exceptions import ImproperlyConfigured

INSTANCE_FILE = "instance.json"


def home() -> Path:
    """The directory that holds the embedded database, keys, models and logs (``MEMSYNC_HOME``)."""
    return Path(os.environ.get("MEMSYNC_HOME") or ".memsync").resolve()


def load_instance() -> None:
    """Fill what the environment does not say from the embedded instance's file, so that
    ``memsync key issue`` and its like reach the instance that ``memsync up`` made.

    With ``DATABASE_URL`` set nothing is embedded and the file is not read.
    """
    path = home() / INSTANCE_FILE
    if "DATABASE_URL" in os.environ or not path.is_file():
        return
    instance: dict[str, Any] = json.loads(path.read_text())
    for name, value in instance.get("environment", {}).items():
        os.environ.setdefault(name, str(value))


env = environ.Env()


def env_secret(name: str, default: str | None = None) -> str:
    """The secret ``NAME``, or the content of the file named by ``NAME_FILE``.  Fails loudly when neither is there."""
    file = os.environ.get(f"{name}_FILE")
    if file:
        try:
            return Path(file).read_text().strip()
        except OSError as error:
            raise ImproperlyConfigured(f"{name}_FILE names a file that cannot be read: {error.strerror}") from error
    value = os.environ.get(name, default)
    if not value:
        raise ImproperlyConfigured(f"Set {name} or {name}_FILE (or run `memsync up`, which makes its own).")
    return value
