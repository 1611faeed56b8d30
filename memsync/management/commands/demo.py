"""`memsync demo`: replay a conversation, and see what is kept, what is refused and why, and what is found again."""

import secrets
import time
from argparse import ArgumentParser
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, replace
from datetime import datetime, timedelta
from typing import Any

from django.core.management.base import CommandError
from django.utils import timezone
from rich.console import Console
from rich.progress import Progress, SpinnerColumn, TextColumn

from apps.apikeys.permissions import DEFAULT
from apps.apikeys.services import issue, revoke
from apps.memories.spaces import get_or_create_end_user
from apps.projects.scope import Environment, Scope
from apps.projects.selectors import default_project, scope_in
from apps.tenants.models import Tenant
from apps.tenants.selectors import find_first_tenant, get_tenant
from memsync.demo import conversation, questions
from memsync.demo.doors import ClientDoor, Door, DoorShut, ServiceDoor
from memsync.demo.pages import pages
from memsync.demo.replay import DemoReport, replay
from memsync.management.plain import PlainCommand, add_json, operator, url
from memsync.ops import smoke_test

KEY_LIFETIME = timedelta(hours=1)


class Command(PlainCommand):
    help = "Replay a conversation of eight months: see what is stored, what is rejected and why, and what is recalled."

    def add_arguments(self, parser: ArgumentParser) -> None:
        add_json(parser)
        parser.add_argument("--keep", action="store_true", help="keep its memories (default: they expire after a day)")
        parser.add_argument("--tenant", metavar="NAME", help="the tenant (default: the first)")
        parser.add_argument(
            "--url", help="the server to use (default: the one that `memsync up` runs; if none runs, this process)"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        began, now = time.monotonic(), timezone.now()
        tenant, end_user, address = _tenant(options["tenant"]), f"demo-{secrets.token_hex(4)}", _address(options["url"])
        try:
            with _door(tenant, end_user, address, now=now) as door:
                report = self._replay(door, options)
        except DoorShut as error:
            raise CommandError(f"{error}.") from error
        where = {
            "tenant": tenant.name,
            "environment": Environment.DEVELOPMENT.value,
            "end_user": end_user,
            "url": address,
            "kept_for_good": options["keep"],
            "took_s": round(time.monotonic() - began, 2),
        }
        if options["json"]:
            self.say_json(where | _described(report))
        else:
            for page in pages(report):
                self.say(page)
            self._say_where(where)

    def _replay(self, door: Door, options: dict[str, Any]) -> DemoReport:
        turns = conversation()
        with Progress(
            SpinnerColumn(), TextColumn("{task.description}"), console=Console(stderr=True), transient=True,
            disable=options["json"],
        ) as bar:  # fmt: skip
            task = bar.add_task(f"Saying {len(turns)} things", total=len(turns))
            return replay(door, turns, questions(), keep=options["keep"], progress=lambda: bar.advance(task))

    def _say_where(self, where: dict[str, Any]) -> None:
        through = where["url"] or "the services, since no server runs"
        stay = "They stay." if where["kept_for_good"] else "They expire in a day; --keep lets them stay."
        self.say(
            f"Through {through}, for [bold]{where['end_user']}[/bold] of {where['tenant']}, {where['environment']}, "
            f"in {where['took_s']} s. {stay}"
        )


def _tenant(name: str | None) -> Tenant:
    tenant = get_tenant(name) if name else find_first_tenant()
    if tenant is None:
        raise CommandError("There is no tenant yet: run `memsync up` first, or `memsync tenant create NAME`.")
    return tenant


def _address(said: str | None) -> str | None:
    """URL of the server; None if none runs.  A server named on the command line must answer."""
    address = (said or url() or "").rstrip("/")
    if address and smoke_test.is_healthy(address):
        return address
    if said:
        raise CommandError(f"Nothing healthy answers at {address}: run `memsync up` first, or leave out --url.")
    return None


@contextmanager
def _door(tenant: Tenant, end_user: str, address: str | None, *, now: datetime) -> Iterator[Door]:
    """Access for a new end user; over HTTP with an API key that is revoked after the demo."""
    scope = scope_in(tenant, principal=operator())
    if address is None:
        yield ServiceDoor(_for_end_user(scope, end_user, now=now), now=now)
        return
    made = issue(
        scope,
        name="memsync demo",
        environment=Environment.DEVELOPMENT,
        scopes=("memory:read", "memory:add"),
        expires_at=now + KEY_LIFETIME,
        now=now,
    )
    try:
        yield ClientDoor(address, key=made.text, end_user=end_user)
    finally:
        revoke(scope, made.key.pk, now=timezone.now())


def _for_end_user(scope: Scope, end_user: str, *, now: datetime) -> Scope:
    """The scope that the API would derive from a development key."""
    scope = replace(
        scope,
        environment=Environment.DEVELOPMENT,
        project_id=default_project(scope).pk,
        permissions=frozenset(DEFAULT),
    )
    return scope.in_spaces(get_or_create_end_user(scope, end_user, now=now))


def _described(report: DemoReport) -> dict[str, Any]:
    return {
        "turns": report.turns,
        "counts": report.counts,
        "kept": [asdict(one) for one in report.kept],
        "refused": [asdict(one) for one in report.refused],
        "asked": [asdict(one) | {"as_expected": one.is_as_expected} for one in report.asked],
    }
