"""Reads settings from the environment first, then from the embedded instance's file.

Each reader raises ImproperlyConfigured, which names the setting, for a value that it does not allow.
"""

import ipaddress
import json
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

import environ  # type: ignore[import-untyped]  # it ships no types
from django.core.exceptions import ImproperlyConfigured

from apps.core.proxies import Network, trusted_networks
from memsync.instance import fill_environment as load_instance
from memsync.instance import home

__all__ = [
    "env",
    "env_float",
    "env_int",
    "env_json",
    "env_list",
    "env_networks",
    "env_proxies",
    "env_secret",
    "home",
    "load_instance",
]

N = TypeVar("N", int, float)
SHOWN = 40  # characters of a value that a message quotes

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


def env_int(name: str, default: int, bounds: tuple[int, int]) -> int:
    """A whole number in the bounds, which are allowed; the default if the setting is missing or empty."""
    return _number(name, default, bounds, read=int, kind="a whole number")


def env_float(name: str, default: float, bounds: tuple[float, float]) -> float:
    """A number in the bounds, which are allowed; the default if the setting is missing or empty."""
    return _number(name, default, bounds, read=float, kind="a number")


def _number(name: str, default: N, bounds: tuple[N, N], *, read: Callable[[str], N], kind: str) -> N:
    text = os.environ.get(name)
    if not text:
        return default
    least, most = bounds
    try:
        value = read(text)
    except ValueError:
        value = None
    if value is None or not least <= value <= most:  # NaN is not either
        raise ImproperlyConfigured(f"{name} is {text[:SHOWN]!r}; it is {kind} from {least:,} to {most:,}.")
    return value


def env_list(name: str, default: Sequence[str] = ()) -> list[str]:
    """Comma-separated values without the blanks around them; the default if the setting is missing."""
    text = os.environ.get(name)
    return list(default) if text is None else [one.strip() for one in text.split(",") if one.strip()]


def env_json(name: str, default: dict[str, Any]) -> dict[str, Any]:
    """A JSON object; the default if the setting is missing or empty.  The error quotes nothing: it may hold a token."""
    text = os.environ.get(name)
    try:
        value = json.loads(text) if text else default
    except ValueError:
        value = None
    if not isinstance(value, dict):
        raise ImproperlyConfigured(f'{name} is no JSON object, such as {{"name": "value"}}.') from None
    return value


def env_networks(name: str) -> list[str]:
    """Comma-separated addresses and networks; empty if the setting is missing."""
    try:
        return [str(ipaddress.ip_network(one, strict=False)) for one in env_list(name)]
    except ValueError:
        raise _no_networks(name) from None


def env_proxies(name: str) -> tuple[Network | str, ...]:
    """The same, where ``unix`` is a socket of this machine."""
    try:
        return trusted_networks(env_list(name))
    except ValueError:
        raise _no_networks(name) from None


def _no_networks(name: str) -> ImproperlyConfigured:
    return ImproperlyConfigured(f"{name} lists addresses and networks, such as 10.0.0.5,10.1.0.0/16.")
