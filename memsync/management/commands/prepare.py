"""`memsync prepare`: make the databases fit to serve.  Runs as their owner; may run any number of times, anywhere."""

import json
from argparse import ArgumentParser
from typing import Any
from urllib.parse import unquote, urlsplit

from django.conf import settings
from django.core.management import call_command
from django.core.management.base import BaseCommand
from django.db import connections
from django.db.migrations.executor import MigrationExecutor

from apps.adapters.registry import get_embedder
from memsync import first_run
from memsync.embedded import roles
from memsync.env import env_secret

ONE_AT_A_TIME = 72_101  # an advisory lock: two hosts may start at once


class Command(BaseCommand):
    help = "Migrate both databases, grant what each role may do, and on empty databases make the first tenant."
    requires_system_checks = ()

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--json", action="store_true", help="print one line of JSON")
        parser.add_argument("--reissue", action="store_true", help="make new keys and a new operator password")
        parser.add_argument(
            "--probe-key", action="store_true", help="make the key with which `memsync up` tries itself"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        with connections["default"].cursor() as cursor:
            cursor.execute("select pg_advisory_lock(%s)", [ONE_AT_A_TIME])
            try:
                migrated = [alias for alias in ("keyring", "default") if migrate(alias)]
                grant()
                found = first_run.run(reissue=options["reissue"], probe_key=options["probe_key"])
            finally:
                cursor.execute("select pg_advisory_unlock(%s)", [ONE_AT_A_TIME])
        warm = getattr(get_embedder(), "warm", None)
        if warm and migrated:  # builds the model's graph; later starts find it on disk
            warm()
        answer = {"migrated": migrated, **found}
        if options["json"]:
            self.stdout.write(json.dumps(answer))
        else:
            self.stdout.write(f"Ready: tenant {found['tenant']}, project {found['project']}.")


def migrate(alias: str) -> bool:
    """Migrate a database that is behind.  Asking first is quicker than Django's own run over nothing."""
    executor = MigrationExecutor(connections[alias])
    if not executor.migration_plan(executor.loader.graph.leaf_nodes()):
        return False
    call_command("migrate", database=alias, interactive=False, verbosity=0)
    return True


def grant() -> None:
    """To the roles that the addresses name; to none where one role does everything."""
    app, operator = (_role(name) for name in ("DATABASE_URL", "OPERATOR_DATABASE_URL"))
    connections["default"].ensure_connection()
    roles.grant_main(connections["default"].connection, app=app, operator=operator or app)
    connections["keyring"].ensure_connection()
    roles.grant_keyring(connections["keyring"].connection, keys=_role("KEYRING_URL"))
    if settings.CELERY_BROKER_URL.startswith("pgmq"):
        import psycopg

        with psycopg.connect(settings.CELERY_BROKER_URL.replace("pgmq", "postgres", 1)) as broker:
            roles.install_queue(broker)


def _role(name: str) -> str:
    return unquote(urlsplit(env_secret(name, default="postgres://")).username or "")
