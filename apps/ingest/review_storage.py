"""Content of review items: pack it, open it, turn it into a proposal, and expire it."""

from datetime import datetime, timedelta
from math import ceil
from typing import Any, Final

import orjson

from apps.audit.actions import AuditAction
from apps.audit.services import record
from apps.core.plaintext import Plaintext
from apps.core.scoping import tenant_transaction
from apps.crypto.services import SpaceCipher
from apps.ingest.candidates import MemoryCandidate, PartClaim, Proposal, ReviewedExtraction
from apps.ingest.models import CONTENT, ReviewItem, ReviewState
from apps.projects.scope import Scope

TABLE: Final = "review_item"  # name under which undecryptable rows are reported
# Fields of a proposal that are stored with its candidate, beside metadata.
_KEPT: Final = ("source", "event_type", "tags", "importance", "session_id", "ttl_minutes", "role",
                "speaker", "occurred_at", "fields")  # fmt: skip
_OF_PART: Final = ("start", "end", "key", "value", "many_valued", "type")


def packed(candidate: MemoryCandidate) -> bytes:
    """The candidate's content and the fields of its proposal, as JSON."""
    proposal = candidate.proposal
    said = {name: getattr(proposal, name) for name in _KEPT}
    if (kept := proposal.kept) is not None:
        # An imported memory keeps its own valid time, and its lifetime as counted from the import.
        said["occurred_at"] = kept.valid_from
        said["ttl_minutes"] = _minutes(kept.expires_at - kept.since) if kept.expires_at else None
    return orjson.dumps(
        {
            "text": candidate.text.reveal(),
            "key": candidate.key,
            "value": candidate.value,
            "many_valued": candidate.many_valued,
            "closes": candidate.closes,
            "parts": [[getattr(part, name) for name in _OF_PART] for part in candidate.parts],
            "event_at": candidate.event_at,
            "event_precision": candidate.event_precision,
            "event_range": candidate.event_range,
            "source_strength": candidate.source_strength,
            "proposal": said | {"metadata": dict(proposal.metadata)},
        },
        option=orjson.OPT_PASSTHROUGH_SUBCLASS,
    )


def opened(row: ReviewItem, cipher: SpaceCipher) -> dict[str, Any]:
    """Decrypt what ``packed`` returned.  Raises DecryptError, and ValueError for a row without content."""
    if row.content_ct is None:
        raise ValueError("nothing is kept of what waits no longer")
    content: dict[str, Any] = orjson.loads(cipher.open_bytes(CONTENT, row.pk, bytes(row.content_ct)))
    return content


def proposal_of(row: ReviewItem, content: dict[str, Any], *, text: Plaintext | None, pinned: bool) -> Proposal:
    """The proposal to remember an accepted item.  text: the reviewer's wording, if they changed it."""
    kept = content["proposal"]
    event_range = content["event_range"]
    return Proposal(
        **{name: kept[name] for name in _KEPT if name in kept}
        | {"tags": tuple(kept["tags"]), "occurred_at": _moment(kept["occurred_at"])},
        source_kind="manual",  # a reviewer has approved it
        text=text or Plaintext(content["text"]),
        metadata=kept["metadata"],
        pinned=pinned,
        reviewed=ReviewedExtraction(
            type=row.type,
            key=content["key"],
            value=content["value"],
            many_valued=content["many_valued"],
            closes=_closes(content["closes"]),
            parts=[PartClaim(**dict(zip(_OF_PART, part, strict=True))) for part in content.get("parts", ())],
            event_at=_moment(content["event_at"]),
            event_precision=content["event_precision"],
            event_range=(_time(event_range[0]), _time(event_range[1])) if event_range else None,
            source_strength=content["source_strength"],
            said_at=row.created_at,
            is_edited=text is not None and text.reveal() != content["text"],
        ),
    )


def _closes(packed: Any) -> list[tuple[str, str | None]]:
    """(key, value) pairs that it closes.  Rows of the previous version hold one pair, or None."""
    pairs = [packed] if packed and isinstance(packed[0], str) else packed or ()
    return [(key, value) for key, value in pairs]


def _minutes(lasts: timedelta) -> int:
    return max(1, ceil(lasts / timedelta(minutes=1)))


def _moment(written: str | None) -> datetime | None:
    return None if written is None else _time(written)


def _time(written: str) -> datetime:
    return datetime.fromisoformat(written)


def expire_candidates(scope: Scope, *, now: datetime) -> int:
    """Expire pending items that were not reviewed in time; return the number.

    Also deletes the content of decisions that can no longer be undone.
    """
    with tenant_transaction(scope):
        rows = ReviewItem.objects.within(scope)
        due = rows.filter(state=ReviewState.PENDING, expires_at__lte=now)
        count = due.update(state=ReviewState.EXPIRED, content_ct=None, decided_at=now, decided_by=scope.principal.label)
        if count:
            record(scope, actor=scope.principal.label, action=AuditAction.CANDIDATE_EXPIRE, count=count, now=now)
        rows.filter(undo_until__lte=now).update(content_ct=None, undo_until=None)
    return count
