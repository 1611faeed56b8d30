"""`memsync prepare`: make the databases fit to serve.  Runs as their owner; may run any number of times, anywhere."""

import json
from argparse import ArgumentParser
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError
from django.db import connections
from django.utils import timezone

from apps.adapters.errors import AdapterError
from apps.adapters.instances import make_adapters, warm_models
from apps.adapters.kms.local import LocalKeyring
from apps.core.errors import DomainError
from apps.crypto.inspection import first_foreign_key
from apps.key_management.binding import bind_first
from apps.tenants.selectors import list_tenants
from memsync import checks
from memsync.env import env_secret
from memsync.launcher import first_run
from memsync.launcher.embedded import roles
from memsync.ops.migration import migrate

ONE_AT_A_TIME = 72_101  # key of an advisory lock: two hosts may start at once


class Command(BaseCommand):
    help = "Migrate both databases, grant privileges, and create the first tenant in empty databases."
    requires_system_checks = ()

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--json", action="store_true", help="print one line of JSON")
        parser.add_argument("--reissue", action="store_true", help="create new keys and passwords")
        parser.add_argument("--probe-key", action="store_true", help="create the key for the self-test of `memsync up`")

    def handle(self, *args: Any, **options: Any) -> None:
        make_adapters()
        with connections["default"].cursor() as cursor:
            cursor.execute("select pg_advisory_lock(%s)", [ONE_AT_A_TIME])
            try:
                migrated = [alias for alias in ("keyring", "default") if migrate(alias)]
                grant()
                make_first_kek()
                refuse_foreign_keys()
                bound = bind_first(now=timezone.now())
                found = first_run.run(reissue=options["reissue"], probe_key=options["probe_key"])
            except (AdapterError, DomainError) as error:
                raise CommandError(str(error)) from error
            finally:
                cursor.execute("select pg_advisory_unlock(%s)", [ONE_AT_A_TIME])
        if migrated:  # this builds the models' graphs; later starts read them from disk
            warm_models()
        answer = {"migrated": migrated, "bound": bound, **found}
        if options["json"]:
            self.stdout.write(json.dumps(answer))
        else:
            if bound:
                self.stdout.write(f"{bound:,} rows of an earlier version were bound to their grants.")
            self.stdout.write(f"Ready: tenant {found['tenant']}, project {found['project']}.")
            for line in _secrets(found):
                self.stdout.write(line)


def _secrets(found: Mapping[str, Any]) -> Iterator[str]:
    """Lines that show the secrets created now, which are stored nowhere."""
    for environment, text in found["keys"].items():
        if text:
            yield f"  {environment} key: {text}"
    for who, where in (("owner", "/app/"), ("operator", "/admin/")):
        if found[who]["password"]:
            yield f"  sign in at {where} as {found[who]['email']} with {found[who]['password']}"
            yield f"    and add a passkey or an authenticator with the code {found[who]['enrolment_code']}"


def make_first_kek() -> None:
    """Create the local keyring's file, if that is the key provider and no key was wrapped with an earlier file.

    Call it after make_adapters, which raises unless a key file is allowed.
    """
    path = settings.KMS["OPTIONS"].get("path")
    local = settings.KMS["BACKEND"] == f"{LocalKeyring.__module__}.{LocalKeyring.__qualname__}"
    if local and not Path(path).exists() and not list_tenants():
        Path(path).parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        LocalKeyring.create(path)


def refuse_foreign_keys() -> None:
    """Raises AdapterError if the key provider does not work, CommandError if another one wrapped the keys."""
    foreign = first_foreign_key()
    if foreign is not None:
        error = checks.foreign_key_error(foreign)
        raise CommandError(f"{error.msg} {error.hint}")


def grant() -> None:
    """Grant rights to the roles that the database URLs name; nothing to do if one role does everything."""
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
