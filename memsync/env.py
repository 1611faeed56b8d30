"""Reading settings: the environment first, then the embedded instance's own file."""

import os
from pathlib import Path

import environ  # type: ignore[import-untyped]  # it ships no types
from django.core.exceptions import ImproperlyConfigured

from memsync.instance import fill_environment as load_instance
from memsync.instance import home

__all__ = ["env", "env_secret", "home", "load_instance"]

env = environ.Env()


def env_secret(name: str, default: str | None = None) -> str:
    """The secret ``NAME``, or what the file ``NAME_FILE`` holds, or the default.  Fails loudly without any of them."""
    file = os.environ.get(f"{name}_FILE")
    if file:
        try:
            return Path(file).read_text().strip()
        except OSError as error:
            raise ImproperlyConfigured(f"{name}_FILE names a file that cannot be read: {error.strerror}") from error
    value = os.environ.get(name) or default
    if value is None:
        raise ImproperlyConfigured(f"Set {name} or {name}_FILE (or run `memsync up`, which makes its own).")
    return value
