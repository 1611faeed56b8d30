"""`memsync reembed`: embed again what another embedder has embedded, after EMBEDDER_BACKEND changed."""

from argparse import ArgumentParser
from typing import Any

from django.utils import timezone
from rich.box import SIMPLE_HEAD
from rich.table import Table

from apps.adapters.instances import get_embedder
from apps.memories.reembedding import VectorCounts, count_vectors, request_reembedding
from apps.projects.system import system_scope
from apps.tenants.selectors import get_tenant, list_tenants
from memsync.management.plain import PlainCommand, add_json

DESCRIPTION = (
    "Request a new vector for every memory whose vector is of another embedder than the configured one. Workers embed "
    "them in the background; until its turn, a memory is found by its words. Run it again to see what is left, or "
    "after an interruption."
)


class Command(PlainCommand):
    help = DESCRIPTION

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--tenant", metavar="NAME", help="only this tenant")
        parser.add_argument("--dry-run", action="store_true", help="only count")
        add_json(parser)

    def handle(self, *args: Any, **options: Any) -> None:
        tenants = [get_tenant(options["tenant"])] if options["tenant"] else list_tenants()
        embedder = get_embedder().id
        found: dict[str, VectorCounts] = {}
        for tenant in tenants:
            scope = system_scope(tenant)
            found[tenant.name] = count_vectors(scope, embedder=embedder)
            if not options["dry_run"] and found[tenant.name].outdated:
                request_reembedding(scope, embedder=embedder, now=timezone.now())
        if options["json"]:
            self.say_json([
                {"tenant": name, "embedder": embedder, "vectors": one.total, "outdated": one.outdated,
                 "requested": 0 if options["dry_run"] else one.outdated}
                for name, one in found.items()
            ])  # fmt: skip
            return
        table = Table("tenant", "vectors", "outdated", box=SIMPLE_HEAD)
        for name, one in found.items():
            table.add_row(name, f"{one.total:,}", f"{one.outdated:,}")
        self.say(table)
        outdated = sum(one.outdated for one in found.values())
        if not outdated:
            self.say(f"Every vector is of {embedder}.")
        elif options["dry_run"]:
            self.say(f"{outdated:,} memories would be embedded again by {embedder}.")
        else:
            self.say(f"Requested: workers embed {outdated:,} memories again by {embedder}.")
