"""pytest plugin: a throw-away PostgreSQL server for the run, with the database roles of production.

The server starts before Django reads its settings.  Each xdist worker copies its two databases from templates that the
first worker migrated as owner.  Django then connects with the roles of production, so that row-level security and
grants apply in every test.
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

# Allow bytecode files: without them each of the run's processes would spend seconds compiling its imports.
sys.dont_write_bytecode = False
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)


@pytest.hookimpl(tryfirst=True)
def pytest_load_initial_conftests(early_config: pytest.Config) -> None:
    if SUPERUSER_URL not in os.environ:
        _start_server(early_config)
    elif "PYTEST_XDIST_WORKER" in os.environ:
        _move_into_a_home_of_its_own()
    # Registered after pytest-django, so that this plugin overrides its fixture of the same name.
    early_config.pluginmanager.register(databases, "memsync-databases")


@pytest.hookimpl(tryfirst=True)
def pytest_xdist_auto_num_workers(config: pytest.Config) -> int:
    """One worker per core, up to MOST_WORKERS, for the whole suite; none if tests are named on the command line."""
    names_everything = config.args_source is not pytest.Config.ArgsSource.ARGS
    return min(os.cpu_count() or 1, MOST_WORKERS) if names_everything else 0


@pytest.hookimpl(trylast=True)
def pytest_collection_finish() -> None:
    """Exclude imported and collected objects from garbage collection, as they live as long as the run; collect the
    rest less often."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 20, 50)


def _move_into_a_home_of_its_own() -> None:
    """Give an xdist worker its own copy of the key file, so that tests may damage it."""
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
    config.add_cleanup(server.stop)  # cleanups run in reverse order
    with psycopg.connect(server.url("postgres"), autocommit=True) as superuser:
        superuser.execute("set scram_iterations = 1")  # each connection pays for them, and no password here is a secret
        roles.create_roles(superuser, dict.fromkeys(roles.ROLES, PASSWORD))
        roles.create_database(superuser, roles.MAIN, may_connect=roles.MAY_CONNECT[roles.MAIN])
    with psycopg.connect(server.url(roles.MAIN)) as superuser:
        roles.prepare_main(superuser)

    def url(role: str, database: str, scheme: str = "postgres") -> str:
        return server.url(database, user=role, password=PASSWORD, scheme=scheme)

    # django_db_setup creates these databases and appends the worker's name.
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
