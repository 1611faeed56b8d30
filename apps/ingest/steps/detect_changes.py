"""Detect which earlier statements each candidate changes, before the lock, so that no model runs under it.

This complements slots, which detect only some changes, with certainty: here any statement may end or repeat another.
A change ends words, never the text beside them (docs/adr/0029, 0031).  ``apply_changes`` applies it under the lock.
"""

import logging
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from apps.adapters.classifiers.base import Classifier
from apps.adapters.errors import AdapterError
from apps.adapters.instances import get_classifier
from apps.core.plaintext import Plaintext
from apps.core.scoping import tenant_transaction
from apps.crypto.services import DecryptError
from apps.ingest.candidates import FoundChange, MemoryCandidate
from apps.ingest.change_rules import Sureness, changes_among, may_change
from apps.ingest.pipeline_context import PipelineContext
from apps.ingest.relatedness import NEAREST
from apps.ingest.speakers import is_user
from apps.memories import integrity
from apps.memories.models import Memory
from apps.memories.nearest import nearest
from apps.memories.rows import recallable_rows
from apps.memories.sealing import open_parts, open_said, open_text
from text.extraction.extractor import LONG_TEXT
from text.extraction.reasons import Reason
from text.marking import places
from text.sentences import Span

logger = logging.getLogger(__name__)

_SURENESS: Final = Sureness()
_OF_BATCH: Final = 32  # each candidate is compared with this many before it in the batch


@dataclass(frozen=True, slots=True, kw_only=True)
class _Earlier:
    """A statement that a candidate may change.  said: its original text.  text: the part that still holds.

    ended: spans of ``said`` that do not.  memory_id: None if it is part of the same batch.  cosine: with the candidate.
    """

    memory_id: int | None
    cosine: float
    text_mac: bytes
    text: Plaintext
    said: Plaintext
    ended: Sequence[Span]


def detect_changes(candidates: Sequence[MemoryCandidate], tools: PipelineContext) -> None:
    """Set each candidate's changes of stored memories and of earlier candidates of the batch.

    Without a classifier, or if it fails, only slots detect changes.
    """
    classifier = get_classifier()
    if classifier is None or not tools.cipher.is_searchable:
        return
    asking = [one for one in candidates if _may_change(one)]
    if not asking:
        return
    at_rest = _nearest(asking, tools)
    try:
        for number, one in enumerate(asking):
            before = [other for other in asking[max(0, number - _OF_BATCH) : number] if other.actor == one.actor]
            earlier = [*at_rest[number], *(_of_candidate(other, one) for other in before)]
            one.changes = list(_changes(one, earlier, classifier))
    except AdapterError as error:
        logger.warning("the classifier failed; what the slots say stands", extra={"error": type(error).__name__})


def _may_change(candidate: MemoryCandidate) -> bool:
    """Whether it is an assertion of the user or a named speaker, and short enough for the classifier."""
    proposal = candidate.proposal
    return (
        candidate.is_wanted
        and candidate.vector is not None
        and proposal.kept is None
        and proposal.stated is None
        and not proposal.is_imported
        and is_user(proposal)
        and candidate.reason != Reason.TOO_COSTLY
        and len(candidate.text.reveal()) <= LONG_TEXT
        and may_change(candidate.text.reveal())
    )


def _changes(candidate: MemoryCandidate, earlier: Sequence[_Earlier], classifier: Classifier) -> Iterator[FoundChange]:
    texts = [(one.text.reveal(), one.cosine) for one in earlier]
    found = changes_among(candidate.text.reveal(), texts, classifier, _SURENESS, worth=candidate.worth)
    for place, change in found:
        one = earlier[place]
        words = places(one.said.reveal(), one.ended, change.words)
        yield FoundChange(
            text_mac=one.text_mac, memory_id=one.memory_id, effect=change.effect, words=words, over=change.over
        )


def _nearest(candidates: Sequence[MemoryCandidate], tools: PipelineContext) -> list[list[_Earlier]]:
    """For each candidate, the nearest current memories of the same speaker and project."""
    found: list[list[_Earlier]] = []
    with tenant_transaction(tools.scope):
        near = [_cosines(one, tools) for one in candidates]
        for one, cosines in zip(candidates, near, strict=True):
            one.near, one.near_as_of = cosines, tools.as_of
        wanted = {memory_id for each in near for memory_id, _ in each}
        rows = recallable_rows(tools.scope, sorted(wanted), None, now=tools.now) if wanted else []
        there = {row.pk: row for row in rows if not row.is_summary and not row.from_assistant}
        for one, cosines in zip(candidates, near, strict=True):
            token = tools.cipher.actor_token(one.actor) if one.actor else None
            mine = [(there[memory_id], cosine) for memory_id, cosine in cosines if memory_id in there]
            opened = (
                _opened(row, cosine, tools)
                for row, cosine in mine
                if row.actor_token == token and row.project_id == tools.scope.project_id  # as slots are
            )
            found.append([row for row in opened if row is not None])
    return found


def _cosines(candidate: MemoryCandidate, tools: PipelineContext) -> list[tuple[int, float]]:
    assert candidate.vector is not None  # noqa: S101  (``_may_change`` looked)
    return nearest(
        tools.scope,
        tools.scope.space,
        candidate.vector,
        tools.cipher,
        limit=NEAREST,
        now=tools.now,
        embedder=tools.embedder.id,
    )


def _opened(row: Memory, cosine: float, tools: PipelineContext) -> _Earlier | None:
    cipher = tools.cipher
    try:
        ended = [Span(part.start, part.end) for part in open_parts(row, cipher)]
        return _Earlier(
            memory_id=row.pk,
            cosine=cosine,
            text_mac=bytes(row.text_mac),
            text=open_text(row, cipher),
            said=open_said(row, cipher),
            ended=ended,
        )
    except DecryptError as error:
        integrity.note(tools.scope, error, row.pk, space_id=tools.scope.space.id, now=tools.now)
        return None


def _of_candidate(candidate: MemoryCandidate, later: MemoryCandidate) -> _Earlier:
    assert candidate.vector is not None  # noqa: S101  (``_may_change`` looked)
    assert later.vector is not None  # noqa: S101
    return _Earlier(
        memory_id=None,
        cosine=float(candidate.vector @ later.vector),
        text_mac=candidate.text_mac,
        text=candidate.text,
        said=candidate.text,
        ended=(),
    )
