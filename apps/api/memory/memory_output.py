"""Response bodies in wire format: memories, skips and decisions."""

from collections.abc import Collection, Sequence
from typing import Any, Final

from rest_framework import serializers

from apps.core.plaintext import Plaintext
from apps.ingest.candidates import STORED, DecisionMade, Outcome
from apps.ingest.memory_details import DescribedMemory
from apps.memories.ended_parts import MemoryPart
from apps.memories.opened import OpenedMemory
from apps.recall.results import Explanation, Hit
from apps.sources.sealing import OBJECT_KINDS, OpenedObject
from text.digest import TextDigest, digest_of
from text.vocabulary import OTHER

DIGESTED: Final = frozenset({"platform_metadata", "key_points", "entities", "topics"})


def memory_body(memory: OpenedMemory) -> dict[str, Any]:
    """All fields of a memory.  ``metadata`` contains only the caller's own values, so that it is returned unchanged."""
    return _stored_body(memory) | _digest_body(memory)


def _stored_body(memory: OpenedMemory) -> dict[str, Any]:
    return {
        "id": memory.id,
        "user_id": memory.user_id,
        "text": memory.text.reveal(),
        "summary": memory.summary.reveal() if memory.summary else None,
        "tags": list(memory.tags),
        "source": memory.source or None,
        "event_type": memory.event_type or None,
        "importance": memory.importance,
        "metadata": dict(memory.metadata),
        "fields": dict(memory.fields),
        "is_summary": memory.is_summary,
        "tier": memory.tier,
        "memory_type": memory.type,
        "insights": [],
        "context": "",
        "quality_score": memory.confidence,
        "extracted_type": memory.type,
        "extracted_key": memory.key,
        "extracted_value": memory.value,
        "session_id": memory.session,
        "speaker": memory.speaker,
        "confidence": memory.confidence,
        "source_confidence": memory.source_strength,
        "extractor_confidence": memory.extractor_confidence,
        "type_prior": memory.type_prior,
        "repetition_count": memory.repetition_count,
        "access_count": memory.access_count,
        "last_accessed_at": memory.last_accessed_at,
        "environment": memory.environment,
        "pinned": memory.pinned,
        "validity": memory.validity,
        "ended": [_ended_body(part, words) for part, words in memory.ended_words],
        "possibly_outdated": memory.outdated_by is not None,
        "retention_status": _reported_status(memory),
        "superseded_by": memory.superseded_by,
        "superseded_at": memory.superseded_at,
        "event_at": memory.event_at,
        "event_precision": memory.event_precision or None,
        "valid_from": memory.valid_from,
        "valid_to": memory.valid_to,
        "expires_at": memory.expires_at,
        "retention_expires_at": memory.kept_until,
        "created_at": memory.created_at,
        "updated_at": memory.updated_at,
        "embedded": memory.is_embedded,
    }


def described_body(found: DescribedMemory) -> dict[str, Any]:
    """A memory with its details."""
    return memory_body(found.memory) | {
        "supersedes": list(found.supersedes),
        "participants": [
            {"entity_id": one.id, "name": one.name, "type": one.type or OTHER} for one in found.participants
        ],
        "evidence": [f"h_{source_id}" for source_id in found.source_ids],
        "source_object": None if found.source_object is None else source_object_body(found.source_object),
    }


def source_object_body(one: OpenedObject) -> dict[str, Any]:
    """An external object, as a memory names it."""
    return {
        "id": one.id,
        "kind": one.name.kind,
        "external_id": one.name.external_id,
        "title": one.title.reveal() if one.title else None,
        "version": one.version,
    }


def _digest_body(memory: OpenedMemory) -> dict[str, Any]:
    """The fields that are computed from the text."""
    digest = digest_of(memory.text.reveal(), key=memory.key, tags=memory.tags)
    return {
        "platform_metadata": _platform_metadata(memory, digest),
        "key_points": list(digest.key_points),
        "entities": list(digest.entities),
        "topics": list(digest.topics),
    }


def hit_body(hit: Hit, *, explains: bool = True, names: Collection[str] = ()) -> dict[str, Any]:
    """A result of a query.

    explains: with ``scores`` and ``explanation``.  names: only these fields, and ``id``; () for all.
    """
    body = _stored_body(hit.memory)
    body["score"] = hit.score
    body["relevance"] = relevance_body(hit)
    if not names or not DIGESTED.isdisjoint(names):
        body |= _digest_body(hit.memory)
    if explains:
        body |= {"scores": dict(hit.explanation.factors), "explanation": explanation_body(hit.explanation)}
    return {name: value for name, value in body.items() if name in names or name == "id"} if names else body


def relevance_body(hit: Hit) -> float | None:
    return None if hit.relevance is None else round(hit.relevance, 4)


def _ended_body(part: MemoryPart, words: Plaintext) -> dict[str, Any]:
    return {
        "text": words.reveal(),
        "ended_at": part.ended_at,
        "superseded_by": part.by,
    }


def _platform_metadata(memory: OpenedMemory, digest: TextDigest) -> dict[str, Any]:
    """The platform's own metadata of a memory, in a separate object beside the caller's.

    No processing time is stored, and no model is used.
    """
    lasts = memory.expires_at - memory.created_at if memory.expires_at else None
    return {
        "semantic_summary": memory.summary.reveal() if memory.summary else next(iter(digest.key_points), None),
        "semantic_processing": "rules",
        "preprocessing_timestamp": memory.created_at,
        "token_count": digest.tokens,
        "processing_time_ms": None,
        "ttl_minutes": round(lasts.total_seconds() / 60) if lasts else None,
    }


def _reported_status(memory: OpenedMemory) -> str:
    """The status on the wire, which has no value for replaced memories: they are reported as archived."""
    if memory.validity == "superseded" and memory.retention_status == "active":
        return "archived"
    return memory.retention_status


def explanation_body(explanation: Explanation) -> dict[str, Any]:
    return {
        "matched_by": explanation.matched_by,
        "factors": dict(explanation.factors),
        "weights": dict(explanation.weights),
        "legs": {leg: dict(found) for leg, found in explanation.legs.items()},
        "boosts": [dict(boost) for boost in explanation.boosts],
        "path": [dict(step) for step in explanation.path],
        "hop": explanation.hop,
    }


def skip_body(outcome: Outcome) -> dict[str, Any]:
    """Nothing was stored, with the reason.  ``status`` must be "skipped": the published client checks only that."""
    return {
        "status": "skipped",
        "reason": outcome.reason,
        "memory_ids": outcome.memory_ids,
        "candidates_extracted": len(outcome.decisions),
        "candidates_stored": sum(made.decision in STORED for made in outcome.decisions),
        "decisions": decisions_body(outcome.decisions),
    }


def decisions_body(decisions: Sequence[DecisionMade]) -> list[dict[str, Any]]:
    return [
        {
            "decision": made.decision,
            "reason": made.reason or None,
            "extracted_type": made.type or None,
            "memory_id": made.memory_id,
            "candidate_id": made.review_id,
            "extractor": made.extractor,
            "fallback": made.fallback or None,
        }
        for made in decisions
    ]


# --- the same for the schema; a test compares both ----------------------------------------------------------------


class ExplanationOutput(serializers.Serializer[Any]):
    """Why a memory has its rank.  The weighted factors sum to the score."""

    matched_by = serializers.CharField()
    factors = serializers.DictField(child=serializers.FloatField())
    weights = serializers.DictField(child=serializers.FloatField())
    legs = serializers.DictField(child=serializers.DictField(child=serializers.FloatField()))
    boosts = serializers.ListField(child=serializers.JSONField())
    path = serializers.ListField(child=serializers.JSONField())
    hop = serializers.IntegerField()


class DecisionOutput(serializers.Serializer[Any]):
    decision = serializers.CharField()
    reason = serializers.CharField(allow_null=True)
    extracted_type = serializers.CharField(allow_null=True)
    memory_id = serializers.IntegerField(allow_null=True)
    candidate_id = serializers.IntegerField(allow_null=True, help_text="IDs of candidates held for review.")
    extractor = serializers.ChoiceField(choices=["rules", "model"], help_text="The extractor.")
    fallback = serializers.CharField(allow_null=True, help_text="Why the rules were used despite a model.")


class PlatformMetadataOutput(serializers.Serializer[Any]):
    """A digest of a memory, computed without a model."""

    semantic_summary = serializers.CharField(allow_null=True, help_text="The summary, or the first of the key points.")
    semantic_processing = serializers.CharField(help_text="`rules`: no language model was used.")
    preprocessing_timestamp = serializers.DateTimeField()
    token_count = serializers.IntegerField(help_text="An estimate.")
    processing_time_ms = serializers.FloatField(allow_null=True, help_text="Not stored: null.")
    ttl_minutes = serializers.IntegerField(allow_null=True)


# Fields of every memory.  No docstring, because the schema of every response would repeat it.
class RetainedOutput(serializers.Serializer[Any]):
    retention_expires_at = serializers.DateTimeField(
        allow_null=True,
        help_text="Until when it is kept, by the current policies and its last use; if archived, until when it can "
        "be read. null: for good, or for as long as a legal hold lasts.",
    )


class EndedOutput(serializers.Serializer[Any]):
    """A part of a memory that is no longer true."""

    text = serializers.CharField(help_text="Its original words.")
    ended_at = serializers.DateTimeField()
    superseded_by = serializers.IntegerField(help_text="The memory that ended it.")


class MemoryOutput(RetainedOutput):
    id = serializers.IntegerField()
    user_id = serializers.IntegerField()
    text = serializers.CharField()
    summary = serializers.CharField(allow_null=True)
    tags = serializers.ListField(child=serializers.CharField())
    source = serializers.CharField(allow_null=True)  # type: ignore[assignment]  # the wire's name, not DRF's
    event_type = serializers.CharField(allow_null=True)
    importance = serializers.FloatField()
    metadata = serializers.DictField()
    fields = serializers.DictField(help_text="Values of the fields of its type; empty where the type has none.")  # type: ignore[assignment]  # the wire's name, not DRF's
    platform_metadata = PlatformMetadataOutput()
    is_summary = serializers.BooleanField()
    tier = serializers.CharField()
    memory_type = serializers.CharField()
    key_points = serializers.ListField(child=serializers.CharField())
    insights = serializers.ListField(child=serializers.CharField())
    entities = serializers.ListField(child=serializers.CharField())
    topics = serializers.ListField(child=serializers.CharField())
    context = serializers.CharField()  # type: ignore[assignment]  # the wire's name; a serializer's own attribute otherwise
    quality_score = serializers.FloatField()
    extracted_type = serializers.CharField()
    extracted_key = serializers.CharField(allow_null=True)
    extracted_value = serializers.CharField(allow_null=True, help_text="The value of that key.")
    session_id = serializers.CharField(allow_null=True)
    speaker = serializers.CharField(allow_null=True)
    confidence = serializers.FloatField(
        help_text="0 to 1, from the next four values; that of an imported memory is the file's."
    )
    source_confidence = serializers.FloatField(help_text="0.95 for the user's own statements, less for others.")
    extractor_confidence = serializers.FloatField()
    type_prior = serializers.FloatField()
    repetition_count = serializers.IntegerField(help_text="How often it was stated.")
    access_count = serializers.IntegerField(help_text="How often it was recalled.")
    last_accessed_at = serializers.DateTimeField(allow_null=True)
    environment = serializers.CharField()
    pinned = serializers.BooleanField()
    validity = serializers.CharField()
    ended = EndedOutput(many=True, help_text="Parts that are no longer true; `…` replaces them in `text`.")
    possibly_outdated = serializers.BooleanField(
        help_text="A later memory may have made it outdated, but was not certain enough to replace it."
    )
    retention_status = serializers.CharField()
    superseded_by = serializers.IntegerField(allow_null=True)
    superseded_at = serializers.DateTimeField(allow_null=True)
    event_at = serializers.DateTimeField(allow_null=True)
    event_precision = serializers.CharField(allow_null=True)
    valid_from = serializers.DateTimeField(help_text="Start of its latest period of validity.")
    valid_to = serializers.DateTimeField(allow_null=True, help_text="End of that period; null if it has not ended.")
    expires_at = serializers.DateTimeField(allow_null=True, help_text="When its own TTL ends (`ttl_minutes`).")
    created_at = serializers.DateTimeField()
    updated_at = serializers.DateTimeField()
    embedded = serializers.BooleanField()


class ParticipantOutput(serializers.Serializer[Any]):
    """A person or thing that a memory mentions; see `/v1/entities/{id}` for its attributes."""

    entity_id = serializers.IntegerField()
    name = serializers.CharField()
    type = serializers.CharField()


class SourceObjectOutput(serializers.Serializer[Any]):
    """A document that memories were made from; see `/v1/objects/{id}`."""

    id = serializers.IntegerField()
    kind = serializers.ChoiceField(choices=OBJECT_KINDS)
    external_id = serializers.CharField()
    title = serializers.CharField(allow_null=True)
    version = serializers.IntegerField(help_text="Counted from 1.")


class MemoryDetailsOutput(MemoryOutput):
    """A memory with its details."""

    supersedes = serializers.ListField(
        child=serializers.IntegerField(),
        help_text="Memories that it replaced and that can still be read, newest first.",
    )
    participants = ParticipantOutput(many=True)
    evidence = serializers.ListField(
        child=serializers.CharField(), help_text="Turns and state items (`h_…`) that say the same."
    )
    source_object = SourceObjectOutput(
        allow_null=True, help_text="The document that states it; of a memory that it states no longer, the last one."
    )


class RelevanceField(serializers.FloatField):
    def __init__(self) -> None:
        super().__init__(
            allow_null=True,
            help_text="Probability, 0 to 1, that the memory answers the query; comparable between queries. Null for "
            "what only a relation led to, and with another embedder than the default.",
        )


class FoundOutput(MemoryOutput):
    """A result of a query.  Fields that `fields` or `explain` left out are missing."""

    score = serializers.FloatField()
    relevance = RelevanceField()
    scores = serializers.DictField(child=serializers.FloatField(), help_text="The factors of the score.")
    explanation = ExplanationOutput()

    def get_fields(self) -> dict[str, serializers.Field[Any, Any, Any, Any]]:
        fields = super().get_fields()
        for name, field in fields.items():
            field.required = name == "id"
        return fields


class StoredOutput(MemoryOutput):
    """The first memory stored, and the ids of all."""

    memory_ids = serializers.ListField(child=serializers.IntegerField())
    decisions = DecisionOutput(many=True)


class SkipOutput(serializers.Serializer[Any]):
    """Nothing was stored; the reason."""

    status = serializers.ChoiceField(choices=["skipped"])
    reason = serializers.CharField()
    memory_ids = serializers.ListField(child=serializers.IntegerField())
    candidates_extracted = serializers.IntegerField()
    candidates_stored = serializers.IntegerField()
    decisions = DecisionOutput(many=True)
