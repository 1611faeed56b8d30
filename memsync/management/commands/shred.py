"""`memsync shred`: erase memories, a person, a project or a tenant for good, or finish interrupted erasures."""

from argparse import ArgumentParser
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any

from django.core.management.base import CommandError
from django.utils import timezone
from rich.table import Table

from apps.erasure import disk_purge, planning, workflow
from apps.erasure.replay import resume
from apps.erasure.selectors import Erased
from apps.erasure.targets import ErasureTargetNotFound, Target
from apps.erasure.workflow import COMMAND_LINE, Authorisation, start_erasure
from apps.memories.spaces import find_end_user, list_spaces
from apps.projects.models import Space
from apps.projects.scope import Environment, Scope
from apps.projects.selectors import SpaceNotFound, scope_in
from apps.retention.subject_requests import note_erased
from apps.tenants.selectors import get_tenant
from memsync.management.plain import PlainCommand, add_json, add_space, add_tenant, chosen_tenant, operator

WHAT = (
    "Deletes it with all derived data; for an end user or a tenant it first destroys the keys. This cannot be undone, "
    "not even from a backup once older backups have expired. Each erasure has a signed receipt."
)

SHOWN = 20  # missing memories that a message lists


class Command(PlainCommand):
    help = f"Erase memories, an end user, a project or a tenant permanently. {WHAT}"

    def add_arguments(self, parser: ArgumentParser) -> None:
        verbs = parser.add_subparsers(
            dest="verb", required=True, metavar="memory|topic|space|person|project|tenant|resume|purge"
        )
        memory = verbs.add_parser("memory", help="erase single memories", description=WHAT)
        memory.add_argument("ids", nargs="+", type=int, metavar="ID")
        topic = verbs.add_parser("topic", help="erase all versions of the same fact", description=WHAT)
        topic.add_argument("id", type=int, metavar="ID", help="of any memory of it")
        for verb in (memory, topic):
            verb.add_argument(
                "--with-sources", action="store_true", help="also the turns and states they were derived from"
            )
        space = verbs.add_parser("space", help="erase all memories of an end user in an environment", description=WHAT)
        add_space(space)
        person = verbs.add_parser("person", help="erase an end user in every environment", description=WHAT)
        person.add_argument("user", metavar="ID", help="the tenant's own id of the end user")
        project = verbs.add_parser("project", help="erase every memory of a project", description=WHAT)
        project.add_argument("project", metavar="ID", help="the project's: proj_...")
        tenant = verbs.add_parser("tenant", help="erase all data of a tenant except its audit trail", description=WHAT)
        tenant.add_argument("name", help="the tenant's")
        again = verbs.add_parser(
            "resume",
            help="finish interrupted erasures",
            description="Erase data that the erasure ledger lists and that still exists.",
        )
        purge = verbs.add_parser(
            "purge",
            help="remove erased data from the database files now",
            description="Vacuum and rewrite every table, and issue the receipts; the worker does it hourly.",
        )
        purge.add_argument(
            "--rewrite", action="store_true", help="also rewrite large tables, which locks them meanwhile"
        )
        for verb in (memory, topic, space, person, project):
            add_tenant(verb)
        for verb in (memory, topic, space, person, project, tenant):
            verb.add_argument("--dry-run", action="store_true", help="show what would be erased, and change nothing")
            verb.add_argument("--yes", action="store_true", help="do not ask")
            verb.add_argument("--request", default="", metavar="TEXT", help="a number to record in the ledger")
        for verb in (memory, topic, space, person, project, tenant, again, purge):
            add_json(verb)

    def handle(self, *args: Any, **options: Any) -> None:
        if options["verb"] in ("resume", "purge"):
            self.resume(options) if options["verb"] == "resume" else self.purge(options)
            return
        name = options["name"] if options["verb"] == "tenant" else options["tenant"]
        tenant = get_tenant(name) if options["verb"] == "tenant" else chosen_tenant(name)
        scope = scope_in(tenant, principal=operator())
        target, said, what = self.chosen(scope, options)
        with_sources = bool(options.get("with_sources"))
        try:
            plan = planning.plan(scope, target, with_sources=with_sources)
        except ErasureTargetNotFound as error:
            if not error.memory_ids:
                raise
            raise CommandError(
                f"Nothing was erased. These memories do not exist: {_some(error.memory_ids)}."
            ) from error
        if self.may_go_on(target, plan, said, what, options):
            done = start_erasure(
                scope,
                target,
                authorised=Authorisation(principal=scope.principal, method=COMMAND_LINE),
                with_sources=with_sources,
                request_id=options["request"],
                now=timezone.now(),
            )
            note_erased(scope, done, now=timezone.now())
            self.tell_done(done, options)

    def chosen(self, scope: Scope, options: dict[str, Any]) -> tuple[Target, str, str]:
        """The target, the text that must be typed to confirm it, and a description of that text."""
        match options["verb"]:
            case "memory":
                target = Target.memories(options["ids"])
                return target, str(len(target.memory_ids)), "how many memories"
            case "topic":
                return Target.topic(options["id"]), str(options["id"]), "the memory's id"
            case "space":
                space = _space(scope, options)
                return Target.space(space.uid), str(space.pk), "the space's id"
            case "person":
                return Target.end_user(_person(scope, options["user"])), options["user"], "the end user's id"
            case "project":
                return Target.of_project(options["project"]), options["project"], "the project's id"
            case _:
                return Target.tenant(), scope.tenant.name, "the tenant's name"

    def resume(self, options: dict[str, Any]) -> None:
        carried = workflow.resume(now=timezone.now())
        done = resume(now=timezone.now())
        if options["json"]:
            self.say_json({**asdict(done), "carried_through": carried})
        else:
            self.say(
                f"{done.entries} erasures in the ledger. Finished now: {done.tenants} tenants, {done.spaces} spaces, "
                f"{done.memories} memories; carried through: {carried}."
            )

    def purge(self, options: dict[str, Any]) -> None:
        done = disk_purge.rewrite_tables(rewrite=options["rewrite"], now=timezone.now())
        if options["json"]:
            self.say_json(asdict(done))
        else:
            self.say(f"{done.erasures} erasures purged; {done.rewritten} tables rewritten, {done.reindexed} reindexed.")
        if done.waits:
            raise CommandError(f"A transaction still reads {', '.join(done.waits)}: run it again.")

    def may_go_on(self, target: Target, plan: Mapping[str, int], name: str, what: str, options: dict[str, Any]) -> bool:
        """Whether to go on.  Raises CommandError if the erasure was not confirmed."""
        if options["dry_run"]:
            self.tell_plan(target, plan, options)
            return False
        if options["yes"]:
            return True
        if options["json"]:
            raise CommandError("With --json pass --yes too: there is no prompt.", returncode=2)
        self.tell_plan(target, plan, options)
        try:
            said = input(f"Type {what} ({name}) to erase it permanently: ")
        except EOFError:
            said = ""
        if said.strip() != name:
            raise CommandError("Nothing was erased.")
        return True

    def tell_plan(self, target: Target, plan: Mapping[str, int], options: dict[str, Any]) -> None:
        if options["json"]:
            self.say_json({"kind": target.kind.value, "done": False, "counts": dict(plan)})
        else:
            self.say(_table("would be erased", plan))

    def tell_done(self, done: Erased, options: dict[str, Any]) -> None:
        (receipt,) = done.receipts
        if options["json"]:
            self.say_json(
                {
                    "kind": done.kind.value,
                    "done": True,
                    "counts": dict(done.counts),
                    "erasure": done.id,
                    "receipt": receipt.id,
                }
            )
            return
        self.say(_table("erased", done.counts))
        self.say(f"Receipt {receipt.id}; `memsync receipt download` writes it to a file.")


def _table(heading: str, counts: Mapping[str, int]) -> Table:
    table = Table(heading, "how many")
    for name, number in sorted(counts.items()):
        table.add_row(name, str(number))
    return table


def _some(ids: Sequence[int]) -> str:
    more = f" and {len(ids) - SHOWN} more" if len(ids) > SHOWN else ""
    return ", ".join(map(str, ids[:SHOWN])) + more


def _person(scope: Scope, external_id: str) -> int:
    """The end user's id, looked up in all environments.  Raises SpaceNotFound."""
    for environment in Environment:
        found = find_end_user(replace(scope, environment=environment), external_id)
        if found is not None:
            return found.owner_id
    raise SpaceNotFound


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
