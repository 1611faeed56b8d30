"""`memsync shred`: erase a space or a tenant for good, or finish what was stopped."""

from argparse import ArgumentParser
from dataclasses import asdict, replace
from typing import Any

from django.core.management.base import CommandError
from django.utils import timezone
from rich.table import Table

from apps.memories.spaces import find_end_user, list_spaces
from apps.projects.models import Space
from apps.projects.scope import Environment, Scope
from apps.projects.selectors import SpaceNotFound, scope_in
from apps.retention.replay import resume
from apps.retention.shredding import Shredded, plan_space, plan_tenant, shred_space, shred_tenant
from apps.tenants.selectors import get_tenant
from memsync.management.plain import PlainCommand, add_json, chosen_tenant, operator

WHAT = (
    "Destroys what opens it and then deletes it. Nobody can take that back: not from a backup either, once those of "
    "the keyring from before have expired."
)


class Command(PlainCommand):
    help = f"Erase a space or a tenant for good. {WHAT}"

    def add_arguments(self, parser: ArgumentParser) -> None:
        verbs = parser.add_subparsers(dest="verb", required=True, metavar="space|tenant|resume")
        space = verbs.add_parser("space", help="erase all memories of an end user in an environment", description=WHAT)
        which = space.add_mutually_exclusive_group(required=True)
        which.add_argument("--space", type=int, metavar="ID", help="the space's id, as `memsync space list` shows")
        which.add_argument("--user", metavar="ID", help="the tenant's own id of the end user whose space it is")
        space.add_argument(
            "--environment",
            choices=[environment.value for environment in Environment],
            default="production",
            help="of the end user's space (default: production)",
        )
        space.add_argument("--tenant", metavar="NAME", help="whose (may be left out where there is one tenant)")
        tenant = verbs.add_parser(
            "tenant", help="erase everything of a tenant but its audit trail; its name is free again", description=WHAT
        )
        tenant.add_argument("name", help="the tenant's")
        again = verbs.add_parser(
            "resume",
            help="finish what was stopped",
            description="Erase whatever the erasure ledger says is erased and is still there.",
        )
        for verb in (space, tenant):
            verb.add_argument("--dry-run", action="store_true", help="say what would go, and change nothing")
            verb.add_argument("--yes", action="store_true", help="do not ask")
            verb.add_argument(
                "--request", default="", metavar="TEXT", help="a number that the ledger shall keep with it"
            )
        for verb in (space, tenant, again):
            add_json(verb)

    def handle(self, *args: Any, **options: Any) -> None:
        {"space": self.space, "tenant": self.tenant, "resume": self.resume}[options["verb"]](options)

    def space(self, options: dict[str, Any]) -> None:
        scope = scope_in(chosen_tenant(options["tenant"]), principal=operator())
        space = _space(scope, options)
        plan = plan_space(scope, space.uid)
        if self.may_go_on(plan, str(space.pk), "the space's id", options):
            done = shred_space(scope, space.uid, request_id=options["request"][:64], now=timezone.now())
            self.tell(done, options, is_done=True)

    def tenant(self, options: dict[str, Any]) -> None:
        tenant = get_tenant(options["name"])
        plan = plan_tenant(tenant)
        if self.may_go_on(plan, tenant.name, "the tenant's name", options):
            scope = scope_in(tenant, principal=operator())
            done = shred_tenant(scope, request_id=options["request"][:64], now=timezone.now())
            self.tell(done, options, is_done=True)

    def resume(self, options: dict[str, Any]) -> None:
        done = resume(now=timezone.now())
        if options["json"]:
            self.say_json(asdict(done))
        else:
            self.say(
                f"{done.entries} erasures in the ledger. Finished now: {done.tenants} tenants, {done.spaces} spaces, "
                f"{done.memories} memories."
            )

    def may_go_on(self, plan: Shredded, name: str, what: str, options: dict[str, Any]) -> bool:
        """Whether it shall be done.  Raises CommandError when it was not confirmed."""
        if options["dry_run"]:
            self.tell(plan, options, is_done=False)
            return False
        if options["yes"]:
            return True
        if options["json"]:
            raise CommandError("With --json say --yes too: nobody can be asked.", returncode=2)
        self.tell(plan, options, is_done=False)
        try:
            said = input(f"Type {what} ({name}) to erase it for good: ")
        except EOFError:
            said = ""
        if said.strip() != name:
            raise CommandError("Nothing was erased.")
        return True

    def tell(self, what: Shredded, options: dict[str, Any], *, is_done: bool) -> None:
        if options["json"]:
            counts = {name: getattr(what, name) for name in ("memories", "salts", "keys", "key_encryption_keys")}
            self.say_json(
                {"kind": what.kind.value, "uid": str(what.uid), "done": is_done, **counts, "rows": dict(what.rows)}
            )
            return
        table = Table("erased" if is_done else "would be erased", "how many")
        for name, number in sorted(what.rows.items()):
            table.add_row(name, str(number))
        table.add_row("salts destroyed", str(what.salts))
        if what.keys:
            table.add_row("keys destroyed", str(what.keys))
        self.say(table)


def _space(scope: Scope, options: dict[str, Any]) -> Space:
    """Raises SpaceNotFound."""
    wanted = options["space"]
    if options["user"] is not None:
        found = find_end_user(replace(scope, environment=Environment(options["environment"])), options["user"])
        wanted = found.id if found else None
    for space in list_spaces(scope):
        if space.pk == wanted:
            return space
    raise SpaceNotFound
