"""pytest plugin: a throw-away PostgreSQL server for the run, and databases in which Django has no special rights.

The server starts before Django reads its settings.  Each worker of the run copies its two databases from templates that
the first one migrated as owner; then Django connects with the roles of production, so that row-level security and
grants are in force in every test.
"""

import gc
import os
import shutil
import sys
import tempfile
from pathlib import Path

import psycopg
import pytest

from memsync.launcher.embedded import roles
from memsync.launcher.embedded.postgres import EmbeddedPostgres
from memsync.testing import databases
from memsync.testing.databases import BROKER_URL, PASSWORD, SUPERUSER_URL

MOST_WORKERS = 6

# Where nothing compiled may be kept, each of the run's many processes would spend seconds on compiling what it imports.
sys.dont_write_bytecode = False
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)


@pytest.hookimpl(tryfirst=True)
def pytest_load_initial_conftests(early_config: pytest.Config) -> None:
    if SUPERUSER_URL not in os.environ:
        _start_server(early_config)
    elif "PYTEST_XDIST_WORKER" in os.environ:
        _move_into_a_home_of_its_own()
    # Registered only now, after pytest-django, so that its fixture of the same name is the one overridden.
    early_config.pluginmanager.register(databases, "memsync-databases")


@pytest.hookimpl(tryfirst=True)
def pytest_xdist_auto_num_workers(config: pytest.Config) -> int:
    """The whole suite takes every core, up to a few; what is named on the command line runs in this process."""
    names_everything = config.args_source is not pytest.Config.ArgsSource.ARGS
    return min(os.cpu_count() or 1, MOST_WORKERS) if names_everything else 0


@pytest.hookimpl(trylast=True)
def pytest_collection_finish() -> None:
    """What was imported and collected lives as long as the run: garbage collection need not look at it again."""
    gc.collect()
    gc.freeze()


def _move_into_a_home_of_its_own() -> None:
    """A worker of xdist gets a copy of the key file: tests that spoil theirs must not spoil their neighbours'."""
    shared = Path(os.environ["MEMSYNC_HOME"])
    home = shared / os.environ["PYTEST_XDIST_WORKER"]
    home.mkdir(mode=0o700)
    shutil.copy(shared / "kek.json", home / "kek.json")
    os.environ["MEMSYNC_HOME"] = str(home)


def _start_server(config: pytest.Config) -> None:
    home = Path(tempfile.mkdtemp(prefix="memsync-test-"))
    config.add_cleanup(lambda: shutil.rmtree(home, ignore_errors=True))
    server = EmbeddedPostgres(home / "postgres", fsync=False)
    server.start()
    config.add_cleanup(server.stop)  # cleanups run last in, first out
    with psycopg.connect(server.url("postgres"), autocommit=True) as superuser:
        superuser.execute("set scram_iterations = 1")  # each connection pays for them, and no password here is a secret
        roles.create_roles(superuser, dict.fromkeys(roles.ROLES, PASSWORD))
        roles.create_database(superuser, roles.MAIN, may_connect=roles.MAY_CONNECT[roles.MAIN])
    with psycopg.connect(server.url(roles.MAIN)) as superuser:
        roles.prepare_main(superuser)

    def url(role: str, database: str, scheme: str = "postgres") -> str:
        return server.url(database, user=role, password=PASSWORD, scheme=scheme)

    # The databases named here are made by django_db_setup, which also puts the worker's name behind theirs.
    os.environ |= {
        SUPERUSER_URL: server.url("postgres"),
        BROKER_URL: url(roles.BROKER, roles.MAIN, "pgmq"),
        "MEMSYNC_HOME": str(home),
        "DATABASE_URL": url(roles.APP, "test_memsync"),
        "DATABASE_OWNER_URL": url(roles.OWNER, "test_memsync"),
        "OPERATOR_DATABASE_URL": url(roles.OPERATOR, "test_memsync"),
        "KEYRING_URL": url(roles.KEYS, "test_memsync_keyring"),
        "KEYRING_OWNER_URL": url(roles.OWNER, "test_memsync_keyring"),
        "CELERY_BROKER_URL": "memory://",
        "CACHE_URL": "locmemcache://",
        "SECRET_KEY": "only-for-tests-and-known-to-everybody-who-reads-this",
        "DEPLOYMENT_ID": "memsync-tests",
        "ALLOW_LOCAL_KEK": "1",
    }
    for name in ("MEMSYNC_AS_OWNER", "SECRET_KEY_FILE", "DATABASE_URL_FILE", "KEYRING_URL_FILE"):
        os.environ.pop(name, None)
    _create_kek(home / "kek.json")


def _create_kek(path: Path) -> None:
    try:
        from apps.adapters.kms.local import LocalKeyring
    except ModuleNotFoundError:
        return
    LocalKeyring.create(path)
