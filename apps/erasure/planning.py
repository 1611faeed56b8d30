"""Counts what an erasure would delete, by kind, and finds the legal holds that block it."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from apps.core.errors import Conflict
from apps.core.scoping import tenant_transaction
from apps.erasure import hard_delete, legal_holds, shredding
from apps.erasure.models import TargetKind
from apps.erasure.targets import FoundTarget, Target, find_target
from apps.projects.models import Space
from apps.projects.scope import Scope
from apps.tenants.models import Tenant

# Table to kind, as receipts count it.
KINDS: Final[Mapping[str, str]] = {
    "memories_memory": "memories",
    "memories_memoryvector": "vectors",
    "memories_posting": "terms",
    "entities_entity": "entities",
    "entities_entityalias": "aliases",
    "entities_entitymention": "mentions",
    "entities_entityclaim": "claims",
    "memories_memoryclaim": "claims",
    "edges_memoryedge": "edges",
    "memories_summarysource": "derived",
    "memories_memoryperiod": "periods",
    "memories_memoryfeedback": "feedback",
    "memories_memorytransition": "transitions",
    "history_historyturn": "turns",
    "history_stateitem": "states",
    "sources_externalobject": "objects",
    "connectors_connector": "connectors",
    "ingest_candidate": "candidates",
    "ingest_reviewitem": "waiting",
    "recall_recalltrace": "traces",
    "transfers_importjob": "imports",
    "transfers_importchunk": "imports",
    "transfers_exportjob": "exports",
    "transfers_exportchunk": "exports",
    "transfers_exportlink": "exports",
}


class ErasureBlocked(Conflict):
    """This erasure is blocked; `details` says by what. Nothing was erased."""

    code = "ERASURE_BLOCKED"


@dataclass(frozen=True, slots=True, kw_only=True)
class Blocker:
    """What blocks an erasure.  reference: a case, or a number."""

    kind: str
    reference: str

    def to_json(self) -> dict[str, str]:
        return {"kind": self.kind, "reference": self.reference}


def plan(scope: Scope, target: Target, *, with_sources: bool = False, most: int | None = None) -> dict[str, int]:
    """Count by kind what erasing the target would delete.  Changes nothing.  most: limit of the count per table.

    Raises as ``workflow.start_erasure`` does.
    """
    found = find_target(scope, target)
    with tenant_transaction(scope):
        check_blockers(scope, found)
    return dict(count_target(scope, target, found, with_sources=with_sources, most=most))


def check_blockers(scope: Scope, found: FoundTarget) -> None:
    """Raise ErasureBlocked, with all blockers, if there are any.  Call it inside the tenant's transaction."""
    if not legal_holds.are_any(scope):  # the usual case; finding the derived memories may take long
        return
    spaces = found.spaces
    if found.named["kind"] == TargetKind.TENANT:
        spaces = list(Space.objects.within(scope).order_by("pk"))
    chosen, derived = hard_delete.with_derived(scope, found.memory_ids, found.turn_ids)
    cases = legal_holds.cases_over(scope, memory_ids=[*chosen, *derived], space_ids=[space.pk for space in spaces])
    blockers = [Blocker(kind="legal_hold", reference=case) for case in cases]
    if blockers:
        raise ErasureBlocked(details=[one.to_json() for one in blockers])


def count_target(
    scope: Scope, target: Target, found: FoundTarget, *, with_sources: bool, most: int | None = None
) -> Counter[str]:
    """Count by kind what erasing this target would delete.  most: as for ``plan``."""
    counts: Counter[str] = Counter()
    if target.kind == TargetKind.TENANT:
        return count_by_kind(shredding.plan_tenant(Tenant.objects.get(pk=scope.tenant_id), most=most).rows)
    if found.memory_ids:
        counts += hard_delete.count(scope, found.memory_ids[:most], with_sources=with_sources)
    counts["turns"] += len(found.turn_ids)
    counts["branches"] += sum(space.origin_uid is not None for space in found.spaces)
    for space in found.spaces:
        counts += count_by_kind(shredding.plan_space(scope, space.uid, most=most).rows)
    return +counts


def count_by_kind(counted: Mapping[str, int]) -> Counter[str]:
    """Sum row counts by table into counts by kind."""
    found: Counter[str] = Counter()
    for table, number in counted.items():
        found[KINDS.get(table, "other")] += number
    return found
