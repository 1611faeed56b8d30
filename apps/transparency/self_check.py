"""Verification of a tenant's own audit log, for its users: the work is bounded, so it can run in a request.

`memsync audit verify` verifies all chains of a deployment, also against checkpoints from other hosts.
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
    """Result of a check.

    first, last: numbers of the first and last row checked; first is 1 if the whole chain was checked.
    confirmed: last row confirmed by a valid checkpoint.  checkpoints: number of valid checkpoints with this chain.
    """

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
    """Recompute the hashes of the tenant's newest rows and compare them with the chain's head and newest checkpoints.

    Raises KeysUnavailable.
    """
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
    """Yield the whole chain as lines of JSON, then the proof that the newest checkpoint signs it.

    `memsync audit verify --file` reads this format.
    """
    # Build the proof first, so that the rows read after it reach at least as far.
    proof = checkpoints.proof_for(scope.tenant_id)
    for entry in chain_of(scope):
        yield _line(entry.to_json())
    if proof:
        yield _line({"checkpoint": proof.to_json()})


def _mine(listing: list[Signed], chain: int) -> list[Head]:
    return [head for one in listing for head in one.heads if head.chain == chain]


def _line(record: dict[str, Any]) -> bytes:
    return orjson.dumps(record, option=orjson.OPT_APPEND_NEWLINE)
