"""`memsync tenant`: create and list tenants, say what their keys may delete, and how much they may ask."""

from argparse import ArgumentParser
from dataclasses import asdict
from typing import Any

from django.core.management.base import CommandError
from django.utils import timezone
from rich.markup import escape
from rich.panel import Panel
from rich.table import Table

from apps.apikeys.onboarding import OpenedTenant, provision_tenant
from apps.apikeys.quota import METERS, MODES, quota_mode, set_quota, standings
from apps.policies.retention import in_force, in_words
from apps.projects.system import find_tenant_scope
from apps.tenants.models import BreakGlass, KeyDeletes
from apps.tenants.selectors import find_organization, get_tenant, list_tenants
from apps.tenants.services import POLICIES, open_organization, set_policy
from memsync.management.plain import PlainCommand, add_json, operator, url


class Command(PlainCommand):
    help = "Create and list tenants; set their policies and quotas."

    def add_arguments(self, parser: ArgumentParser) -> None:
        verbs = parser.add_subparsers(dest="verb", required=True, metavar="create|list|policy")
        create = verbs.add_parser(
            "create",
            help="create a tenant with its own encryption keys, a default project and three API keys",
            description="Create a tenant with its own encryption keys, a default project and one API key for each "
            "environment. The keys are shown only once.",
        )
        create.add_argument("name", help="1 to 64 letters, digits, dots, dashes and underscores; unique")
        create.add_argument(
            "--organization", metavar="NAME", help="the owner; created if missing (default: the tenant's name)"
        )
        add_json(create)
        add_json(verbs.add_parser("list", help="show all tenants", description="Show all tenants."))
        policy = verbs.add_parser(
            "policy",
            help="set what keys may delete, how new spaces start, and how changes and instructions are treated",
            description="Set what the tenant's API keys may delete, whether new spaces are sealed, whether a new value "
            "of a claim replaces the older one, and whether extracted instructions are held for review. An API key "
            "never erases: `retire` lets a key with the scope memory:delete soft-delete memories, which can be "
            "restored for 7 days.",
        )
        policy.add_argument("name", help="the tenant's")
        policy.add_argument(
            "setting",
            metavar="NAME=VALUE",
            help="key_deletes=deny, the default, refuses all deletes, key_deletes=retire hides; "
            "new_spaces=searchable, the default, or new_spaces=sealed: no index data is stored for new end users; "
            "changes=replace, the default, or changes=dispute, which keeps both values until a reviewer decides; "
            "instructions=style, the default: how users want to be answered takes effect when they say it, and other "
            "instructions wait; instructions=review: all wait; instructions=keep: all take effect at once; "
            "session_summaries=off, the default, or on: whether sessions are summarized without being asked; "
            "ai_extract=self_hosted_only, the default, allow or deny: which language model may read what is said; "
            "ai_rerank, of the same values: which cross-encoder may read what was found; "
            "break_glass=ask, the default, or deny: whether operators may ask to read a space in an emergency; "
            "require_second_factor=no, the default, or yes: through the API a password is never enough to confirm with",
        )
        add_json(policy)
        quota = verbs.add_parser(
            "quota",
            help="limit a tenant's adds and retrievals per month",
            description="Show this month's usage of the quota; with --mode, set it. One request is one unit. `strict` "
            "returns 429 over the limit; `silent` returns a normal response and does nothing; `off`, the default, "
            "counts nothing.",
        )
        quota.add_argument("name", help="the tenant's")
        quota.add_argument("--mode", choices=MODES)
        quota.add_argument("--adds", type=int, metavar="N", help="in a calendar month (default: no limit)")
        quota.add_argument("--retrievals", type=int, metavar="N", help="in a calendar month (default: no limit)")
        add_json(quota)

    def handle(self, *args: Any, **options: Any) -> None:
        verbs = {"create": self.create, "list": self.list, "policy": self.policy, "quota": self.quota}
        verbs[options["verb"]](options)

    def create(self, options: dict[str, Any]) -> None:
        now, owner = timezone.now(), options["organization"] or options["name"]
        organization = find_organization(owner) or open_organization(owner, now=now)
        opened = provision_tenant(organization, options["name"], principal=operator(), now=now)
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
                        "changes": tenant.changes,
                        "instructions": tenant.instructions,
                        "session_summaries": tenant.session_summaries,
                        "ai_extract": tenant.ai_extract,
                        "ai_rerank": tenant.ai_rerank,
                        "break_glass": tenant.break_glass,
                        "require_second_factor": tenant.require_second_factor,
                        "created_at": tenant.created_at.isoformat(),
                        "closed_at": tenant.closed_at.isoformat() if tenant.closed_at else None,
                    }
                    for tenant in found
                ]
            )
            return
        if not found:
            self.say("There are no tenants yet: `memsync tenant create NAME` creates one.")
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
            choices = ", ".join(f"{known}={'|'.join(POLICIES[known].values)}" for known in POLICIES)
            raise CommandError(f"Use one of {choices}.", returncode=2)
        if name == "break_glass" and value == BreakGlass.NOTIFY:
            raise CommandError("Only an owner of the tenant can loosen this, in the console.", returncode=2)
        tenant = get_tenant(options["name"])
        set_policy(tenant, actor=operator().label, now=timezone.now(), **{name: value})
        if options["json"]:
            self.say_json({"tenant": tenant.name, name: value})
        elif name == "new_spaces":
            self.say(f"New spaces of [bold]{tenant.name}[/bold] are {value}; existing spaces do not change.")
        elif name == "key_deletes":
            self.say(f"API keys of [bold]{tenant.name}[/bold]: {KeyDeletes(value).label.lower()}.")
        else:
            label = dict(POLICIES[name].choices)[value]
            self.say(f"{name.capitalize()} of [bold]{tenant.name}[/bold] from now on: {label}.")

    def quota(self, options: dict[str, Any]) -> None:
        now, scope = timezone.now(), find_tenant_scope(get_tenant(options["name"]).name)
        limits = {meter: options[meter] for meter in METERS}
        if options["mode"] is None and any(limit is not None for limit in limits.values()):
            raise CommandError("Pass --mode with a limit: strict, silent or off.", returncode=2)
        if options["mode"] is not None:
            set_quota(scope, actor=operator().label, mode=options["mode"], now=now, **limits)
        mode, found = quota_mode(scope), standings(scope, now=now)
        if options["json"]:
            self.say_json({"tenant": options["name"], "mode": mode, "meters": [asdict(one) for one in found]})
            return
        table = Table("meter", "used this month", "limit", title=f"Quota of {escape(options['name'])}: {mode}")
        for one in found:
            table.add_row(one.meter, f"{one.used:,}", "none" if one.limit is None else f"{one.limit:,}")
        self.say(table)


def _described(opened: OpenedTenant) -> dict[str, Any]:
    """The same keys as in `memsync up --json`; there are no users for one tenant, and nothing was started."""
    return {
        "url": url(),
        "tenant": opened.tenant.name,
        "project": opened.project.public_id,
        "keys": {environment.value: text for environment, text in opened.keys.items()},
        "operator": None,
        "owner": None,
        "retention": in_words(in_force(opened.scope, project_id=None)),
        "started_in_s": None,
    }


def _drawn(opened: OpenedTenant) -> Panel:
    table = Table.grid(padding=(0, 2))
    table.add_column(style="dim", no_wrap=True)
    table.add_column(overflow="fold")
    table.add_row("tenant", f"{opened.tenant.name}, of {escape(opened.tenant.organization.name)}")
    table.add_row("project", opened.project.public_id)
    table.add_row("keys", "[yellow]shown only once[/yellow]; valid for 90 days")
    return Panel.fit(table, title="Tenant opened", border_style="green")
