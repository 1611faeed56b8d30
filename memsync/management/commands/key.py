"""`memsync key`: issue, list, rotate and revoke API keys."""

from argparse import ArgumentParser
from datetime import datetime
from typing import Any

from django.utils import timezone
from rich.box import SIMPLE_HEAD
from rich.markup import escape
from rich.panel import Panel
from rich.table import Table

from apps.apikeys.models import ApiKey
from apps.apikeys.permissions import CROSS_PROJECT_READ, DEFAULT, IN_NO_WILDCARD, PERMISSIONS
from apps.apikeys.selectors import ApiKeyNotFound, list_keys, state_of
from apps.apikeys.services import DEFAULT_GRACE, DEFAULT_LIFETIME, Issued, issue, revoke, rotate
from apps.projects.scope import Environment, Scope
from apps.projects.selectors import get_project
from memsync.management.plain import PlainCommand, add_json, add_tenant, duration, scope_of

ENVIRONMENTS = [environment.value for environment in Environment]
ENDS = {"active": "until", "expired": "since", "revoked": "since"}
BEGINNING = 20  # characters shown: the length of the longest key prefix
COLOURS = {"active": "green", "expired": "yellow", "revoked": "red"}


class Command(PlainCommand):
    help = "Issue, list, rotate and revoke API keys."

    def add_arguments(self, parser: ArgumentParser) -> None:
        verbs = parser.add_subparsers(dest="verb", required=True, metavar="issue|list|rotate|revoke")
        give = verbs.add_parser(
            "issue",
            help="create a key; it is shown once",
            description="Create a key. It is shown once; only a hash is stored.",
            epilog="Scopes: "
            + "; ".join(f"{name} ({what})" for name, what in PERMISSIONS.items())
            + f"; memory:* and * (everything but {', '.join(sorted(IN_NO_WILDCARD))}, which a key has only by name; "
            f"with --project also {CROSS_PROJECT_READ}).",
        )
        give.add_argument("--name", default="key", help="what the key is used for")
        give.add_argument(
            "--environment",
            choices=ENVIRONMENTS,
            action="append",
            help="its environment (default: production); repeated: the key writes in the first, reads the memories of "
            "all, and works in another that a request names",
        )
        give.add_argument(
            "--scopes",
            nargs="+",
            metavar="SCOPE",
            default=list(DEFAULT),
            help="separated by blanks or commas (default: reading and writing, without memory:delete)",
        )
        give.add_argument(
            "--project",
            metavar="proj_…",
            help="pin the key to this project; with the scope org:cross_project_read it can read others (default: not "
            "pinned; a request names its project)",
        )
        give.add_argument(
            "--expires-in",
            type=duration,
            default=DEFAULT_LIFETIME,
            metavar="TIME",
            help="for example 90d or 12h; at most 365d (default: 90d)",
        )
        show = verbs.add_parser(
            "list", help="show a tenant's keys, without their secrets", description="Show a tenant's keys."
        )
        show.add_argument("--environment", choices=ENVIRONMENTS, help="only those that work in this environment")
        change = verbs.add_parser(
            "rotate",
            help="create a replacement for this key and retire this one",
            description="Create a key with the same permissions. The old key stays valid for a grace period, so that "
            "running programs can switch.",
        )
        change.add_argument("key", help="its ID, the prefix that `memsync key list` shows, or the whole key")
        change.add_argument(
            "--grace",
            type=duration,
            default=DEFAULT_GRACE,
            metavar="TIME",
            help="how long the old key stays valid; 0 if it leaked (default: 24h)",
        )
        end = verbs.add_parser("revoke", help="revoke this key", description="Revoke this key.")
        end.add_argument("key", help="its ID, the prefix that `memsync key list` shows, or the whole key")
        for verb in (give, show, change, end):
            add_tenant(verb)
            add_json(verb)

    def handle(self, *args: Any, **options: Any) -> None:
        verb = {"issue": self.issue, "list": self.list, "rotate": self.rotate, "revoke": self.revoke}[options["verb"]]
        verb(scope_of(options["tenant"]), options, timezone.now())

    def issue(self, scope: Scope, options: dict[str, Any], now: datetime) -> None:
        scopes = [name for part in options["scopes"] for name in part.split(",") if name]
        project = get_project(scope, options["project"]) if options["project"] else None
        home, *others = [Environment(one) for one in options["environment"] or ["production"]]
        issued = issue(
            scope,
            name=options["name"],
            environment=home,
            other_environments=others,
            scopes=scopes,
            project_id=project.pk if project else None,
            expires_at=now + options["expires_in"],
            now=now,
        )
        self.show_issued(scope, issued, options, title="Key issued")

    def list(self, scope: Scope, options: dict[str, Any], now: datetime) -> None:
        keys = [key for key in list_keys(scope) if options["environment"] in (None, *key.environments)]
        if options["json"]:
            self.say_json([_described(key, now=now) for key in keys])
            return
        table = Table(box=SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False)
        table.add_column("id", no_wrap=True)
        # A truncated prefix could not be passed to rotate and revoke; a long name may wrap.
        table.add_column("begins with", min_width=BEGINNING, max_width=BEGINNING, overflow="fold")
        table.add_column("environment", no_wrap=True)
        table.add_column("state", no_wrap=True)
        table.add_column("scopes", overflow="fold")
        for key in keys:
            state = state_of(key, now=now)
            ends = key.revoked_at or key.expires_at
            used = f"used {key.last_used_at:%Y-%m-%d}" if key.last_used_at else "never used"
            table.add_row(
                str(key.pk),
                f"{key.prefix}\n[dim]{escape(key.name)}[/dim]",
                "\n".join([*key.environments, f"[dim]{used}[/dim]"]),
                f"[{COLOURS[state]}]{state}[/{COLOURS[state]}]\n[dim]{ENDS[state]} {ends:%Y-%m-%d}[/dim]",
                "default" if tuple(key.scopes) == DEFAULT else "\n".join(key.scopes),
            )
        self.say(table if keys else f"{scope.tenant.name} has no such keys.")

    def rotate(self, scope: Scope, options: dict[str, Any], now: datetime) -> None:
        old = _find(scope, options["key"])
        issued = rotate(scope, old.pk, grace=options["grace"], now=now)
        self.show_issued(scope, issued, options, title="Key rotated", replaces=_find(scope, str(old.pk)))

    def revoke(self, scope: Scope, options: dict[str, Any], now: datetime) -> None:
        key = revoke(scope, _find(scope, options["key"]).pk, now=now)
        if options["json"]:
            self.say_json(_described(key, now=now))
        else:
            self.say(f"Revoked [bold]{key.prefix}[/bold] ({escape(key.name)}): it is refused from now on.")

    def show_issued(
        self, scope: Scope, issued: Issued, options: dict[str, Any], *, title: str, replaces: ApiKey | None = None
    ) -> None:
        key = issued.key
        if options["json"]:
            answer = {"key": issued.text, "tenant": scope.tenant.name} | _described(key, now=key.created_at)
            if replaces:
                answer["replaces"] = _described(replaces, now=key.created_at)
            self.say_json(answer)
            return
        table = Table.grid(padding=(0, 2))
        table.add_column(style="dim", no_wrap=True)
        table.add_column(overflow="fold")
        table.add_row("for", ", ".join([scope.tenant.name, *key.environments]))
        table.add_row("scopes", " ".join(key.scopes))
        table.add_row("valid until", f"{key.expires_at:%Y-%m-%d %H:%M} UTC")
        if replaces:
            until = "revoked now" if replaces.revoked_at else f"valid until {replaces.expires_at:%Y-%m-%d %H:%M} UTC"
            table.add_row("the old one", f"{replaces.prefix}, {until}")
        table.add_row("secret", "[yellow]shown only once[/yellow]")
        self.say(Panel.fit(table, title=title, border_style="green"))
        self.say_whole(f"[bold]{issued.text}[/bold]")


def _find(scope: Scope, named: str) -> ApiKey:
    for key in list_keys(scope):
        if named in (str(key.pk), key.kid, key.prefix) or named.startswith(f"{key.prefix}_"):
            return key
    shown = "_".join(named.split("_")[:3])  # the user may have typed the whole key, and terminals are recorded
    raise ApiKeyNotFound(f"{scope.tenant.name} has no key {shown}; `memsync key list` shows its keys.")


def _described(key: ApiKey, *, now: datetime) -> dict[str, Any]:
    return {
        "id": key.pk,
        "prefix": key.prefix,
        "name": key.name,
        "environment": key.environment,
        "other_environments": key.other_environments,
        "scopes": list(key.scopes),
        "project_id": key.project.public_id if key.project else None,
        "state": state_of(key, now=now),
        "created_at": key.created_at.isoformat(),
        "expires_at": key.expires_at.isoformat() if key.expires_at else None,
        "last_used_at": key.last_used_at.isoformat() if key.last_used_at else None,
        "revoked_at": key.revoked_at.isoformat() if key.revoked_at else None,
    }
