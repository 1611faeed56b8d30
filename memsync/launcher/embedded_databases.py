"""Creates the embedded server's databases and roles, and builds a URL for each role.

Also computes how many connections the server must accept.
"""

from collections.abc import Mapping

import psycopg

from memsync import instance
from memsync.launcher.embedded import roles
from memsync.launcher.embedded.postgres import EmbeddedPostgres
from memsync.launcher.worker_count import worker_processes

# Connections that a process may hold: per thread one each to the data, the keys and the operators' data, and a few per
# process to the broker.  When none are left, the next process, which would be a worker, waits forever.
CONNECTIONS = {"web": 8 * 3 + 6, "worker": 8, "others": 60}


def connections_needed(web_processes: int) -> int:
    """Connections that the server must accept: web processes, workers, beat, and commands beside them."""
    return CONNECTIONS["web"] * web_processes + CONNECTIONS["worker"] * worker_processes() + CONNECTIONS["others"]


def create_databases(server: EmbeddedPostgres, passwords: Mapping[str, str]) -> None:
    """Create missing roles and databases.  Call it only while holding the home's lock."""
    with psycopg.connect(server.url("postgres"), autocommit=True) as superuser:
        roles.create_roles(superuser, passwords)
        for database, may_connect in roles.MAY_CONNECT.items():
            roles.create_database(superuser, database, may_connect=may_connect)
    with psycopg.connect(server.url(roles.MAIN)) as superuser:
        roles.prepare_main(superuser)
        roles.release_queue(superuser)  # no worker runs: we hold the lock and ended the leftovers
    with psycopg.connect(server.url(roles.KEYRING)) as superuser:
        roles.prepare_keyring(superuser)


def database_urls(server: EmbeddedPostgres, passwords: Mapping[str, str]) -> dict[str, str]:
    """The database settings of the embedded server, except those that the environment sets."""

    def url(role: str, database: str, scheme: str = "postgres") -> str:
        return server.url(database, user=role, password=passwords[role], scheme=scheme)

    made = {
        "DATABASE_URL": url(roles.APP, roles.MAIN),
        "DATABASE_OWNER_URL": url(roles.OWNER, roles.MAIN),
        "OPERATOR_DATABASE_URL": url(roles.OPERATOR, roles.MAIN),
    }
    if not instance.given("KEYRING_URL"):
        made["KEYRING_URL"] = url(roles.KEYS, roles.KEYRING)
        made["KEYRING_OWNER_URL"] = url(roles.OWNER, roles.KEYRING)
    if not instance.given("CELERY_BROKER_URL"):
        made["CELERY_BROKER_URL"] = url(roles.BROKER, roles.MAIN, "pgmq")
    return made
