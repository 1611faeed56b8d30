"""`memsync space`: list a tenant's spaces, seal the sensitive ones, and make them searchable again."""

from argparse import ArgumentParser
from dataclasses import replace
from typing import Any

from django.core.management.base import CommandError
from django.utils import timezone
from rich.table import Table

from apps.memories.indexing_mode import CAPACITY, set_profile
from apps.memories.spaces import find_end_user, list_spaces
from apps.projects.models import Space
from apps.projects.scope import Environment, Scope
from apps.tenants.models import Profile
from memsync.management.plain import PlainCommand, add_json, add_space, add_tenant, scope_of

SEALED = (
    "A sealed space has no index data: neither keyed words nor rotated vectors. Recall decrypts all of it in process, "
    f"so it holds at most {CAPACITY} memories."
)


class Command(PlainCommand):
    help = "List a tenant's spaces; seal sensitive ones, or make them searchable again."

    def add_arguments(self, parser: ArgumentParser) -> None:
        verbs = parser.add_subparsers(dest="verb", required=True, metavar="list|seal|unseal")
        show = verbs.add_parser("list", help="show a tenant's spaces", description="Show a tenant's spaces.")
        seal = verbs.add_parser("seal", help="seal a space: store no index data", description=SEALED)
        unseal = verbs.add_parser(
            "unseal", help="make a space searchable again", description=f"Make a space searchable again. {SEALED}"
        )
        for verb in (seal, unseal):
            add_space(verb)
        for verb in (show, seal, unseal):
            add_tenant(verb)
            add_json(verb)

    def handle(self, *args: Any, **options: Any) -> None:
        scope = scope_of(options["tenant"])
        if options["verb"] == "list":
            self.list(scope, options)
        else:
            self.change(scope, options)

    def list(self, scope: Scope, options: dict[str, Any]) -> None:
        found = list_spaces(scope)
        if options["json"]:
            self.say_json([_described(space) for space in found])
            return
        if not found:
            self.say(f"{scope.tenant.name} has no spaces yet: the first add for an end user creates one.")
            return
        table = Table("id", "whose", "environment", "profile", "memories ever indexed", box=None, pad_edge=False)
        for space in found:
            branch = f", branch {space.branch}" if space.branch else ""
            whose = f"{space.kind} {space.owner_id}{branch}"
            table.add_row(str(space.pk), whose, space.environment, space.profile, str(space.doc_count))
        self.say(table)

    def change(self, scope: Scope, options: dict[str, Any]) -> None:
        profile = Profile.SEALED if options["verb"] == "seal" else Profile.SEARCHABLE
        space_id = options["space"]
        if space_id is None:
            space = find_end_user(replace(scope, environment=Environment(options["environment"])), options["user"])
            if space is None:
                raise CommandError(f"That end user has no space in {options['environment']}.")
            space_id = space.id
        count = set_profile(scope, space_id, profile, now=timezone.now())
        if options["json"]:
            self.say_json({"space": space_id, "profile": profile.value, "memories": count})
        else:
            self.say(f"Space {space_id} is {profile.value}; it holds {count} memories.")


def _described(space: Space) -> dict[str, Any]:
    return {
        "id": space.pk,
        "uid": str(space.uid),
        "kind": space.kind,
        "owner_id": space.owner_id,
        "environment": space.environment,
        "branch": space.branch or None,
        "profile": space.profile,
        "memories_indexed": space.doc_count,
        "created_at": space.created_at.isoformat(),
    }
