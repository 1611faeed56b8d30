"""Reads settings from the environment first, then from the embedded instance's file."""

import os
from pathlib import Path

import environ  # type: ignore[import-untyped]  # it ships no types
from django.core.exceptions import ImproperlyConfigured

from apps.core.proxies import Network, trusted_networks
from memsync.instance import fill_environment as load_instance
from memsync.instance import home

__all__ = ["env", "env_networks", "env_secret", "home", "load_instance"]

env = environ.Env()


def env_secret(name: str, default: str | None = None) -> str:
    """The secret ``NAME``, else the content of the file ``NAME_FILE``, else the default.  Raises if all are missing."""
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


def env_networks(name: str) -> tuple[Network | str, ...]:
    """Comma-separated addresses and networks; empty if not set.  Raises for anything else."""
    try:
        return trusted_networks(one.strip() for one in os.environ.get(name, "").split(",") if one.strip())
    except ValueError:
        raise ImproperlyConfigured(f"{name} lists addresses and networks, such as 10.0.0.5,10.1.0.0/16.") from None
