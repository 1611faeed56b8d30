"""Whether a tenant's own audit trail is whole, for its people to ask: bounded work, so that a click can do it.

All chains of a deployment, and the checkpoints that were carried to another host, are for `memsync audit verify`.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

import orjson
from django.conf import settings

from apps.audit.checkpoint_statement import Head, Signed
from apps.audit.models import ChainHead
from apps.audit.selectors import chain_of, newest_of_chain
from apps.core.scoping import InTenant, tenant_transaction
from apps.transparency import checkpoints
from apps.transparency.verify import VerificationFinding, verify, wrong_with

MOST: Final = 20_000  # rows
MOST_CHECKPOINTS: Final = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Checked:
    """first, last: numbers of the rows that were looked at; first is 1 where that was the whole chain.

    confirmed: up to which of them a believed checkpoint says so.  checkpoints: how many were believed and list this
    chain."""

    at: datetime
    rows: int
    first: int
    last: int
    confirmed: int
    checkpoints: int
    findings: list[VerificationFinding]

    @property
    def is_whole(self) -> bool:
        return not self.findings


def check_trail(scope: InTenant, *, now: datetime) -> Checked:
    """Compute the hashes of the tenant's newest rows again, and hold them against the chain's head and the newest
    checkpoints of this database.  Raises KeysUnavailable."""
    with tenant_transaction(scope, snapshot=True):
        entries, before = newest_of_chain(scope, most=MOST)
        head = ChainHead.objects.filter(chain=scope.tenant_id).first()
        listing = checkpoints.listing(scope.tenant_id, most=MOST_CHECKPOINTS)
    wrong = {
        one.statement.number: found
        for one in listing
        if (found := wrong_with(one, deployment=settings.DEPLOYMENT_ID, is_signed=checkpoints.is_signed))
    }
    believed = [one for one in listing if one.statement.number not in wrong]
    report = verify(
        entries,
        heads={head.chain: Head(head.chain, head.seq, head.hash)} if head else {},
        known=_mine(believed, scope.tenant_id),
        after=before,
    )
    unbelieved = [
        VerificationFinding(kind="checkpoint", chain=None, seq=number, detail=detail)
        for number, detail in wrong.items()
    ]
    return Checked(
        at=now,
        rows=report.rows,
        first=before.seq + 1 if before else 1,
        last=entries[-1].seq or 0 if entries else 0,
        confirmed=report.covered.get(scope.tenant_id, 0),
        checkpoints=len(believed),
        findings=unbelieved + report.findings,
    )


def export_lines(scope: InTenant) -> Iterator[bytes]:
    """The whole chain as lines of JSON and, as the last one, the proof that the newest checkpoint signs it: what
    `memsync audit verify --file` reads."""
    # The proof first: the rows read after it then reach at least as far.
    proof = checkpoints.proof_for(scope.tenant_id)
    for entry in chain_of(scope):
        yield _line(entry.to_json())
    if proof:
        yield _line({"checkpoint": proof.to_json()})


def _mine(listing: list[Signed], chain: int) -> list[Head]:
    return [head for one in listing for head in one.heads if head.chain == chain]


def _line(record: dict[str, Any]) -> bytes:
    return orjson.dumps(record, option=orjson.OPT_APPEND_NEWLINE)
