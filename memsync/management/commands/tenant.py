"""`memsync tenant`: create and list tenants, and say what their keys may delete."""

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import CommandError
from django.utils import timezone
from rich.markup import escape
from rich.panel import Panel
from rich.table import Table

from apps.apikeys.onboarding import Opened, open_tenant
from apps.tenants.models import KeyDeletes
from apps.tenants.selectors import find_organization, get_tenant, list_tenants
from apps.tenants.services import POLICIES, open_organization, set_policy
from memsync.management.plain import PlainCommand, add_json, operator, url

NOT_YET = "until retiring is built, every delete by an API key is refused."


class Command(PlainCommand):
    help = "Create and list tenants; say what their API keys may delete."

    def add_arguments(self, parser: ArgumentParser) -> None:
        verbs = parser.add_subparsers(dest="verb", required=True, metavar="create|list|policy")
        create = verbs.add_parser(
            "create",
            help="open a tenant with its own encryption keys, a default project and three API keys",
            description="Open a tenant with its own encryption keys, a default project and one API key for each "
            "environment. The keys are shown now and never again.",
        )
        create.add_argument("name", help="1 to 64 letters, digits, dots, dashes and underscores; unique")
        create.add_argument(
            "--organization", metavar="NAME", help="who owns it; made if there is none (default: the tenant's name)"
        )
        add_json(create)
        add_json(verbs.add_parser("list", help="show all tenants", description="Show all tenants."))
        policy = verbs.add_parser(
            "policy",
            help="say what the tenant's API keys may delete, and whether new spaces are sealed",
            description="Say what the tenant's API keys may delete, and whether new spaces are sealed. "
            "An API key never erases: `retire` is to let a key "
            "that holds the scope memory:delete hide memories, which can be restored for 7 days. It is recorded and "
            f"has no effect yet: {NOT_YET}",
        )
        policy.add_argument("name", help="the tenant's")
        policy.add_argument(
            "setting",
            metavar="NAME=VALUE",
            help="key_deletes=deny, the default, refuses all deletes, key_deletes=retire hides; "
            "new_spaces=searchable, the default, or new_spaces=sealed, which keeps nothing searchable of new end users",
        )
        add_json(policy)

    def handle(self, *args: Any, **options: Any) -> None:
        {"create": self.create, "list": self.list, "policy": self.policy}[options["verb"]](options)

    def create(self, options: dict[str, Any]) -> None:
        now, owner = timezone.now(), options["organization"] or options["name"]
        organization = find_organization(owner) or open_organization(owner, now=now)
        opened = open_tenant(organization, options["name"], principal=operator(), now=now)
        if options["json"]:
            self.say_json(_described(opened))
        else:
            self.say(_drawn(opened))
            for environment, text in opened.keys.items():
                self.say_whole(f"[dim]{environment:>12}[/dim]  [bold]{text}[/bold]")

    def list(self, options: dict[str, Any]) -> None:
        found = list_tenants()
        if options["json"]:
            self.say_json(
                [
                    {
                        "tenant": tenant.name,
                        "organization": tenant.organization.name,
                        "key_deletes": tenant.key_deletes,
                        "new_spaces": tenant.new_spaces,
                        "created_at": tenant.created_at.isoformat(),
                        "closed_at": tenant.closed_at.isoformat() if tenant.closed_at else None,
                    }
                    for tenant in found
                ]
            )
            return
        if not found:
            self.say("There are no tenants yet: `memsync tenant create NAME` makes one.")
            return
        table = Table("tenant", "organization", "keys may", "since", "state")
        for tenant in found:
            table.add_row(
                tenant.name,
                escape(tenant.organization.name),
                {"deny": "delete nothing", "retire": "retire memories"}[tenant.key_deletes],
                f"{tenant.created_at:%Y-%m-%d}",
                "[red]closed[/red]" if tenant.closed_at else "[green]open[/green]",
            )
        self.say(table)

    def policy(self, options: dict[str, Any]) -> None:
        name, _, value = options["setting"].partition("=")
        if name not in POLICIES or value not in POLICIES[name].values:
            raise CommandError("Say key_deletes=deny|retire or new_spaces=searchable|sealed.", returncode=2)
        tenant = get_tenant(options["name"])
        set_policy(tenant, actor=operator().label, now=timezone.now(), **{name: value})
        if options["json"]:
            self.say_json({"tenant": tenant.name, name: value})
        elif name == "new_spaces":
            self.say(f"New spaces of [bold]{tenant.name}[/bold] are {value}; those it has stay as they are.")
        else:
            self.say(f"API keys of [bold]{tenant.name}[/bold]: {KeyDeletes(value).label.lower()}.")
            if value == KeyDeletes.RETIRE:
                self.say(f"Recorded for later: {NOT_YET}")


def _described(opened: Opened) -> dict[str, Any]:
    """As `memsync up --json` says it; nobody signs in for one tenant, and nothing was started."""
    return {
        "url": url(),
        "tenant": opened.tenant.name,
        "project": opened.project.public_id,
        "keys": {environment.value: text for environment, text in opened.keys.items()},
        "operator": None,
        "started_in_s": None,
    }


def _drawn(opened: Opened) -> Panel:
    table = Table.grid(padding=(0, 2))
    table.add_column(style="dim", no_wrap=True)
    table.add_column(overflow="fold")
    table.add_row("tenant", f"{opened.tenant.name}, of {escape(opened.tenant.organization.name)}")
    table.add_row("project", opened.project.public_id)
    table.add_row("keys", "[yellow]shown now and never again[/yellow]; valid for 90 days")
    return Panel(table, title="Tenant opened", border_style="green")
