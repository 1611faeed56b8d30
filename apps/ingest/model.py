"""Extraction by a language model, if the operator configured one, within a daily budget.

One call per turn, outside of any transaction.  On any failure the rules extract instead, and the outcome's fallback is
the cause: ``egress`` (the tenant's policy), ``policy`` (the turn contains content that may not leave), ``budget``,
``timeout``, ``circuit_open``, or the endpoint's failure.
"""

import time
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from typing import Final

from django.conf import settings

from apps.adapters.extractors.base import ExtractionFailed, Extractor
from apps.adapters.extractors.chat import MOST_TEXT
from apps.adapters.instances import get_extractor
from apps.audit.actions import AuditAction
from apps.audit.services import record
from apps.core.queries import execute, fetch_one
from apps.core.scoping import tenant_transaction
from apps.ingest.candidates import ModelReading, Proposal
from apps.ingest.costs import budget_for
from apps.ingest.keep_gate import weighed
from apps.ingest.speakers import is_user
from apps.projects.scope import Scope
from apps.tenants.selectors import may_leave
from text.extraction.extractor import read_turn
from text.extraction.reasons import Reason

# Refusals of the rules that make a model call pointless.
IDLE: Final = frozenset({Reason.FILLER, Reason.TOO_SHORT, Reason.CODE_ONLY, Reason.NOT_USER_TURN, Reason.NOTHING_SAID})
SHORTEST_SECONDS: Final = 0.1


def read_ahead(scope: Scope, proposals: Sequence[Proposal], *, now: datetime) -> list[Proposal]:
    """Return the proposals, each with the model's reading or the cause of the fallback to the rules.

    All calls together take at most EXTRACTOR_SECONDS; the rules extract the rest.
    """
    extractor = get_extractor()
    if extractor is None:
        return list(proposals)
    deadline = time.monotonic() + settings.EXTRACTOR_SECONDS
    is_allowed: bool | None = None
    read: list[Proposal] = []
    for proposal in proposals:
        reading = None
        if proposal.reading is None and _is_for_models(proposal):
            if is_allowed is None:
                is_allowed = may_leave(scope.tenant_id, "ai_extract", self_hosted=extractor.is_self_hosted)
            reading = _reading(scope, extractor, proposal, is_allowed=is_allowed, deadline=deadline, now=now)
        read.append(replace(proposal, reading=reading) if reading is not None else proposal)
    return read


def _is_for_models(proposal: Proposal) -> bool:
    """Whether to call the model: not for what ``is_meant``, other speakers, or documents."""
    return not proposal.is_meant and is_user(proposal) and len(proposal.text) <= MOST_TEXT


def _reading(
    scope: Scope, extractor: Extractor, proposal: Proposal, *, is_allowed: bool, deadline: float, now: datetime
) -> ModelReading | None:
    """The model's reading, or a fallback; None if the rules find nothing worth a call."""
    text, said_at = proposal.text.reveal(), proposal.occurred_at or now
    with budget_for(text):
        read = weighed(text, read_turn(text, role="user", now=said_at), is_meant=False)
    if all(finding.reason in IDLE for finding in read):
        return None
    if not is_allowed:
        return ModelReading(fallback="egress")
    if any(finding.decision == "discarded_policy" for finding in read):
        return ModelReading(fallback="policy")
    reserved = extractor.most_tokens(len(text))
    if deadline - time.monotonic() < SHORTEST_SECONDS:
        return ModelReading(fallback="timeout")
    if not _reserve(scope, reserved, now=now):
        return ModelReading(fallback="budget")
    try:
        seconds = max(SHORTEST_SECONDS, deadline - time.monotonic())
        made = extractor.propose(text, said_at=said_at, seconds=seconds)
        reading = ModelReading(proposed=made.proposed, tokens_in=made.tokens_in, tokens_out=made.tokens_out)
    except ExtractionFailed as failure:
        reading = ModelReading(fallback=failure.cause, tokens_in=failure.tokens_in, tokens_out=failure.tokens_out)
    reading = replace(reading, cost_micros=extractor.cost(reading.tokens_in, reading.tokens_out))
    _settle(scope, reserved, reading, now=now)
    return reading


def _reserve(scope: Scope, tokens: int, *, now: datetime) -> bool:
    """Reserve one call and its maximum tokens in today's budget; return whether there was room.

    A single statement, so that concurrent turns cannot exceed the budget.
    """
    calls, most = settings.EXTRACTOR_DAILY_CALLS, settings.EXTRACTOR_DAILY_TOKENS
    if calls < 1 or tokens > most:
        return False
    with tenant_transaction(scope):
        row = fetch_one(
            "insert into ingest_modeluse as kept (tenant_id, day, calls, tokens, cost_micros, created_at) "
            "values (%s, %s, 1, %s, 0, %s) "
            "on conflict (tenant_id, day) do update set calls = kept.calls + 1, tokens = kept.tokens + excluded.tokens "
            "where kept.calls < %s and kept.tokens + excluded.tokens <= %s returning id",
            [scope.tenant_id, now.date(), tokens, now, calls, most],
        )
        return row is not None


def _settle(scope: Scope, reserved: int, reading: ModelReading, *, now: datetime) -> None:
    """Replace the reservation with the actual usage, or cancel it if the open circuit prevented the call."""
    was_asked = reading.fallback != "circuit_open"
    # An endpoint that failed without reporting usage may have charged for the call: keep the reservation.
    is_told = bool(reading.tokens_in or reading.tokens_out) or not was_asked
    spent = reading.tokens_in + reading.tokens_out if is_told else reserved
    with tenant_transaction(scope):
        execute(
            "update ingest_modeluse set calls = calls - %s, tokens = greatest(0, tokens + %s), "
            "cost_micros = cost_micros + %s where tenant_id = %s and day = %s",
            [0 if was_asked else 1, spent - reserved, reading.cost_micros, scope.tenant_id, now.date()],
        )
        if was_asked:
            record(scope, actor=scope.principal.label, action=AuditAction.AI_EXTRACT, reason=reading.fallback, now=now)
