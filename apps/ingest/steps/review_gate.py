"""Review gate: decide which candidates must wait for review, and put them into the queue."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Final

from django.conf import settings

from apps.core.prepared_sql import insert
from apps.core.sequences import reserve_ids
from apps.ingest.candidates import MemoryCandidate
from apps.ingest.models import CONTENT, ReviewItem, ReviewState
from apps.ingest.review_storage import packed
from apps.ingest.snapshot import SpaceSnapshot
from apps.memories.types import confidence
from apps.projects.models import Review
from text.extraction.reasons import Reason

UNSURE: Final = 0.50  # candidates with lower confidence wait (design: the seed's own cases lie on both sides of it)
MOST_WAITING: Final = 1_000  # per space; further candidates are refused


def review_reason(candidate: MemoryCandidate, snapshot: SpaceSnapshot) -> str:
    """``low_confidence`` or ``policy`` if the project's policy requires review, else an empty string."""
    if candidate.proposal.is_meant:
        return ""
    policy = snapshot.review
    if policy == Review.BY_DOOR:
        policy = Review.LOW_CONFIDENCE if candidate.proposal.is_overheard else Review.OFF
    if policy == Review.LOW_CONFIDENCE and initial_confidence(candidate) < UNSURE:
        return Reason.LOW_CONFIDENCE
    return Reason.POLICY if policy == Review.ALL else ""


def initial_confidence(candidate: MemoryCandidate) -> float:
    """The initial confidence of a memory made from the candidate."""
    return confidence(
        source_strength=candidate.source_strength,
        repetition_count=1,
        extractor_confidence=candidate.extractor_confidence,
        prior=candidate.kind.prior,
    )


@dataclass(slots=True)
class Queue:
    """The review queue of one space, under its lock."""

    snapshot: SpaceSnapshot
    _room: int | None = None

    def take(self, candidate: MemoryCandidate) -> None:
        """Set the review id of a pending candidate; one with the same text shares it.

        Refuses a text that was rejected before, and any candidate once the queue is full.
        """
        if candidate.decision != "pending":
            return
        state, review_id = self._met(candidate)
        if state == ReviewState.REJECTED:
            candidate.refuse("discarded_policy", Reason.REJECTED_IN_REVIEW)
        elif state == ReviewState.PENDING:
            candidate.review_id = review_id
        elif self._has_room():
            (candidate.review_id,) = reserve_ids(1, sequence="ingest_reviewitem_id_seq")
            self.snapshot.waiting.append(candidate)
        else:
            candidate.refuse("discarded_policy", Reason.REVIEW_FULL)

    def _met(self, candidate: MemoryCandidate) -> tuple[str, int | None]:
        """State and id of a pending or rejected item with the same text, else ("", None)."""
        for other in self.snapshot.waiting:
            if other.text_mac == candidate.text_mac:
                return ReviewState.PENDING, other.review_id
        rows = ReviewItem.objects.within(self.snapshot.scope).filter(
            space_id=self.snapshot.space.pk,
            digest=candidate.text_mac,
            state__in=(ReviewState.PENDING, ReviewState.REJECTED),
        )
        return rows.order_by("-pk").values_list("state", "pk").first() or ("", None)

    def _has_room(self) -> bool:
        if self._room is None:
            mine = ReviewItem.objects.within(self.snapshot.scope).filter(space_id=self.snapshot.space.pk)
            self._room = MOST_WAITING - mine.filter(state=ReviewState.PENDING).count()
        self._room -= 1
        return self._room >= 0


def write_waiting(candidates: Sequence[MemoryCandidate], snapshot: SpaceSnapshot) -> None:
    """Insert the pending candidates, encrypted.  Call in the transaction that locked the snapshot."""
    insert(
        ReviewItem(
            id=one.review_id,
            tenant_id=snapshot.scope.tenant_id,
            space_id=snapshot.space.pk,
            project_id=snapshot.scope.project_id,
            reason=one.reason,
            type=one.type,
            confidence=initial_confidence(one),
            extractor=one.extractor,
            digest=one.text_mac,
            content_ct=snapshot.cipher.seal(CONTENT, one.review_id, packed(one)),
            key_version=snapshot.cipher.key_version,
            created_at=snapshot.now,
            expires_at=snapshot.now + timedelta(days=settings.REVIEW_DAYS),
        )
        for one in candidates
        if one.review_id is not None
    )
