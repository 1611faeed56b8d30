"""The search of scripts/canary, for tests; words that occur nowhere by themselves; and all the places to look in."""

import io
import logging
import pickle
import random
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import psycopg
from django.conf import settings
from django.core.cache import caches
from django.db import connections
from kombu import pools

from memsync.celery import app
from memsync.log_format import JsonFormatter
from tests.canaries.script import script


def word(seed: int, letters: int = 16) -> str:
    """A word that occurs nowhere, and that could be one: "fuvahalolotedo"."""
    chance = random.Random(seed)
    return "".join(chance.choice("bdfghjklmnprtvz" if at % 2 == 0 else "aeiou") for at in range(letters))


def needles(words: Iterable[str]) -> Any:
    """Words cut short, so that a stem betrays itself too."""
    return script.Needles([], [word[:12] for word in words])


def in_bytes(raw: bytes | str, words: Iterable[str]) -> set[str]:
    """Which of the words are in raw, in any encoding."""
    found = needles(words).found(raw.encode() if isinstance(raw, str) else raw)
    return {what for what, _ in found}


def in_databases(superuser_url: str, words: Iterable[str], *, also: Iterable[str] = ()) -> list[str]:
    """ "table: word (encoding)" for every hit in any column of both databases, of ``also``, and the server's log."""
    names = [str(connections[alias].settings_dict["NAME"]) for alias in ("default", "keyring")]
    sought, found = needles(words), []
    for database in dict.fromkeys([*names, *also]):
        with psycopg.connect(f"{superuser_url.rsplit('/', 1)[0]}/{database}", autocommit=True) as superuser:
            for place, raw in (*_tables(superuser), *_server_log(superuser)):
                found += [f"{place}: {what} ({how})" for what, how in sorted(sought.found(raw))]
    return found


def _tables(superuser: Any) -> Iterator[tuple[str, bytes]]:
    for table in script.tables(superuser):
        yield table, b"\n\n".join(script.cells(superuser, table))


def _server_log(superuser: Any) -> Iterator[tuple[str, bytes]]:
    for (name,) in superuser.execute("select name from pg_ls_logdir()").fetchall():
        row = superuser.execute(
            "select pg_read_binary_file(current_setting('log_directory') || '/' || %s)", [name]
        ).fetchone()
        yield f"server log {name}", bytes(row[0])


def in_cache(words: Iterable[str]) -> set[str]:
    """Keys and values of the cache, as its backend in this process holds them."""
    cache: Any = caches["default"]
    raw = pickle.dumps((list(cache._cache.items()), list(cache._expire_info)))
    return in_bytes(raw, words)


@contextmanager
def logged() -> Iterator[io.StringIO]:
    """Every line that any logger writes meanwhile, as JsonFormatter gives it; our own from DEBUG up."""
    lines = io.StringIO()
    handler = logging.StreamHandler(lines)
    handler.setFormatter(JsonFormatter())
    loggers = [logging.getLogger(name) for name in ("", "apps", "memsync")]
    levels = [logger.level for logger in loggers]
    loggers[0].addHandler(handler)
    for logger in loggers[1:]:
        logger.setLevel(logging.DEBUG)
    try:
        yield lines
    finally:
        loggers[0].removeHandler(handler)
        for logger, level in zip(loggers, levels, strict=True):
            logger.setLevel(level)


@contextmanager
def broker(url: str) -> Iterator[None]:
    """Celery on this broker, with the options of production, until the end."""
    usual = {name: app.conf[name] for name in ("broker_url", "broker_write_url", "broker_transport_options")}
    options = {**settings.PGMQ_OPTIONS, "conn_string": url.replace("pgmq", "postgresql", 1)}
    try:
        _use(broker_url=url, broker_write_url=url, broker_transport_options=options)
        yield
    finally:
        _use(**usual)


def _use(**conf: Any) -> None:
    app.conf.update(conf)
    pools.reset()  # a closed pool would otherwise be found again under the same address
    app._pool = None
    app.amqp._producer_pool = None
