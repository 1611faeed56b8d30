"""The memory model: what is remembered, about whom, and whether it holds; and the sources of summaries."""

from datetime import datetime
from typing import Self

from django.contrib.postgres.fields import ArrayField, DateTimeRangeField
from django.contrib.postgres.fields.ranges import RangeStartsWith
from django.db import models
from django.db.models import Exists, OuterRef, Q
from django.db.models.functions import Coalesce, Greatest

from apps.core.fields import EncryptedField
from apps.core.scoping import InTenant, ScopedManager, ScopedModel, ScopedQuerySet
from apps.projects.scope import Environment, Scope

# The contexts bound into the envelopes.
TEXT, SUMMARY, LABEL, TAGS, METADATA = "memory.text", "memory.summary", "memory.label", "memory.tags", "memory.metadata"
SAID, PARTS = "memory.said", "memory.parts"
ANALYSIS = "memory.analysis"
CONTENT, KEYWORDS, HANDLES = "memory.content", "memory.keywords", "memory.handles"
FIELDS = "memory.fields"


class Validity(models.TextChoices):
    """Whether a memory is currently true."""

    CURRENT = "current"
    SUPERSEDED = "superseded"
    DISPUTED = "disputed"


class Retention(models.TextChoices):
    """Whether a memory exists, and for whom.  Recall returns only active memories."""

    ACTIVE = "active"
    ARCHIVED = "archived"
    SOFT_DELETED = "soft_deleted"
    HARD_DELETE_PENDING = "hard_delete_pending"
    PURGED = "purged"


class Tier(models.TextChoices):
    HOT = "hot"
    WARM = "warm"
    COLD = "cold"


class Precision(models.TextChoices):
    EXACT = "exact"
    DAY = "day"
    WEEK = "week"
    MONTH = "month"
    APPROXIMATE = "approximate"
    UNKNOWN = "unknown"


class MemoryQuerySet(ScopedQuerySet["Memory"]):
    """Chainable filters of memories."""

    def within(self, scope: InTenant) -> Self:
        """Rows of the scope's tenant, environment and spaces, and of its project or of no project."""
        rows = super().within(scope)
        if isinstance(scope, Scope):
            rows = rows.filter(environment=scope.environment, space_id__in=[space.id for space in scope.spaces])
            rows = rows.in_project(scope)
        return rows

    def existing(self, now: datetime) -> Self:
        """Readable by id: active or archived, not expired, and not a summary that has lost a source."""
        return (
            self.filter(retention_status__in=("active", "archived"))
            .filter(Q(expires_at=None) | Q(expires_at__gt=now))
            .filter(Q(is_summary=False) | ~_has_lost_a_source(now))
        )

    def live(self, now: datetime) -> Self:
        """Memories that recall may return."""
        current = self.existing(now).filter(retention_status="active").exclude(validity="superseded")
        return current.filter(Q(valid_to=None) | Q(valid_to__gt=now))

    def to_open(self) -> Self:
        """With the vector's metadata but without the vector: what ``open_memory`` needs."""
        return self.select_related("vector").defer("analysis_ct", "vector__embedding_ct", "vector__signs")

    def expired_at(self, now: datetime) -> Self:
        return self.filter(retention_status="active", expires_at__lte=now)


def _has_lost_a_source(now: datetime) -> Exists:
    """For a summary: whether one of its sources is no longer live (``apps.memories.lineage``)."""
    live = (
        MemoryQuerySet(Memory)
        .filter(tenant_id=OuterRef("tenant_id"), pk=OuterRef("source_id"), retention_status="active")
        .filter(Q(expires_at=None) | Q(expires_at__gt=now))
        .exclude(validity="superseded")
    )
    links: ScopedQuerySet[SummarySource] = ScopedQuerySet(SummarySource).filter(
        tenant_id=OuterRef("tenant_id"), summary_id=OuterRef("pk")
    )
    return Exists(links.filter(~Exists(live)))


_IS_THERE = models.Q(retention_status__in=("active", "archived"))


class MemoryManager(ScopedManager["Memory"]):
    def within(self, scope: InTenant) -> MemoryQuerySet:
        return MemoryQuerySet(self.model, using=self._db).within(scope)

    def within_tenant(self, scope: InTenant) -> MemoryQuerySet:
        """All spaces of the tenant: for maintenance across spaces, never for a response to a caller."""
        return MemoryQuerySet(self.model, using=self._db).filter(tenant_id=scope.tenant_id)


class Memory(ScopedModel):
    """One memory.  Every ``…_ct`` column is encrypted under the tenant's data key.

    validity: whether it is currently true.  retention_status: whether it exists.  Neither is derived from the other.
    ``id`` is the only handle in the API.
    """

    space = models.ForeignKey("projects.Space", models.CASCADE, related_name="+", db_constraint=False, db_index=False)
    project = models.ForeignKey(
        "projects.Project", models.SET_NULL, null=True, related_name="+", db_constraint=False, db_index=False
    )
    environment = models.CharField(max_length=16)
    public_id = models.CharField(max_length=36)
    updated_at = models.DateTimeField()
    copied_from = models.BigIntegerField(null=True, help_text="In a branch: the memory that it is a copy of.")
    created_txid = models.BigIntegerField()
    changed_txid = models.BigIntegerField()

    # type and keyed hashes
    type = models.CharField(max_length=32)
    slot = models.BinaryField(max_length=16, null=True)
    value_mac = models.BinaryField(max_length=16, null=True)
    text_mac = models.BinaryField(max_length=16)
    said_mac = models.BinaryField(max_length=16, null=True, help_text="Of the text as it was said, where parts ended.")

    # content, encrypted
    key_version = models.IntegerField()
    text_ct = EncryptedField(TEXT)
    summary_ct = EncryptedField(SUMMARY, null=True)
    content_ct = EncryptedField(CONTENT, null=True)
    keywords_ct = EncryptedField(KEYWORDS, null=True)
    metadata_ct = EncryptedField(METADATA, is_revised=True, null=True)
    label_ct = EncryptedField(LABEL, null=True, help_text="The canonical key, to show; the slot is for equality.")
    tags_ct = EncryptedField(TAGS, is_revised=True, null=True)
    handles_ct = EncryptedField(HANDLES, help_text="What the keyed hashes below are computed from.")
    said_ct = EncryptedField(SAID, null=True, help_text="The text as it was said, where a part of it holds no longer.")
    parts_ct = EncryptedField(
        PARTS, is_revised=True, null=True, help_text="Which parts of it hold no longer, since when and by what."
    )
    fields_ct = EncryptedField(FIELDS, is_revised=True, null=True, help_text="Values of the fields of its type.")
    analysis_ct = EncryptedField(ANALYSIS, null=True, help_text="What ranking reads of the text (text.analysis).")
    revision = models.IntegerField(default=0, help_text="Of the fields that may change; bound into their seal.")

    # labels in clear, for the planner; tokens are keyed
    source = models.CharField(max_length=64, blank=True)
    source_kind = models.CharField(max_length=16, default="auto")
    event_type = models.CharField(max_length=64, blank=True)
    tier = models.CharField(max_length=8, choices=Tier, default=Tier.HOT)
    is_summary = models.BooleanField(default=False)
    pinned = models.BooleanField(default=False)
    tag_tokens = ArrayField(models.BigIntegerField(), default=list)
    actor_token = models.BigIntegerField(null=True)
    session_token = models.BigIntegerField(null=True)
    from_assistant = models.BooleanField(default=False)

    # validity
    validity = models.CharField(max_length=12, choices=Validity, default=Validity.CURRENT)
    superseded_by = models.ForeignKey(
        "self", models.SET_NULL, null=True, related_name="+", db_constraint=False, db_index=False
    )
    superseded_at = models.DateTimeField(null=True)
    superseded_reason = models.CharField(max_length=16, blank=True)
    outdated_by_id = models.BigIntegerField(
        null=True, help_text="A later memory that may have made it untrue, which is not sure enough to replace it."
    )

    # retention
    retention_status = models.CharField(max_length=24, choices=Retention, default=Retention.ACTIVE)
    expires_at = models.DateTimeField(null=True)
    archive_at = models.DateTimeField(null=True)
    hard_delete_at = models.DateTimeField(null=True)
    deleted_at = models.DateTimeField(null=True)
    deletion_method = models.CharField(max_length=24, blank=True)
    legal_hold = models.BooleanField(default=False)

    # evidence
    source_strength = models.FloatField(default=0.95)
    repetition_count = models.IntegerField(default=1)
    extractor_confidence = models.FloatField(default=0.9)
    type_prior = models.FloatField(default=0.15)
    confidence = models.FloatField(default=0.65)

    # vitality
    importance = models.FloatField(default=0.5)
    platform_importance = models.SmallIntegerField(default=50)
    access_count = models.BigIntegerField(default=0)
    last_accessed_at = models.DateTimeField(null=True)
    last_used_at = models.DateTimeField(null=True, help_text="Its age counts from then; empty: from when it was made.")

    # world time
    event_at = models.DateTimeField(null=True)
    event_precision = models.CharField(max_length=12, choices=Precision, blank=True)
    event_range = DateTimeRangeField(null=True)
    valid_from = models.DateTimeField(null=True)
    valid_to = models.DateTimeField(null=True)
    known_from = models.DateTimeField(
        null=True, help_text="Since when the two before have been so; empty: since it was made."
    )

    objects = MemoryManager()

    class Meta(ScopedModel.Meta):
        constraints = (
            models.UniqueConstraint(fields=("tenant", "id"), name="memory_in_tenant"),
            models.UniqueConstraint(fields=("tenant", "space", "id"), name="memory_in_space"),
            models.UniqueConstraint(
                fields=("tenant", "space", "slot"),
                condition=models.Q(slot__isnull=False, validity="current", retention_status="active"),
                name="memory_one_current_per_slot",
            ),
            models.UniqueConstraint(
                fields=("tenant", "space", "public_id"),
                condition=models.Q(retention_status="active"),
                name="memory_one_active_per_public_id",
            ),
            models.CheckConstraint(
                condition=models.Q(environment__in=[value.value for value in Environment]), name="memory_environment"
            ),
            models.CheckConstraint(condition=models.Q(validity__in=Validity.values), name="memory_validity"),
            models.CheckConstraint(condition=models.Q(retention_status__in=Retention.values), name="memory_retention"),
            models.CheckConstraint(condition=models.Q(tier__in=Tier.values), name="memory_tier"),
            models.CheckConstraint(
                condition=models.Q(importance__gte=0.0, importance__lte=1.0), name="memory_importance"
            ),
        )
        indexes = (
            models.Index(fields=("tenant", "space", "-id"), name="memory_newest"),
            models.Index(fields=("tenant", "environment", "type", "validity", "retention_status"), name="memory_tally"),
            models.Index(fields=("tenant", "space", "text_mac"), name="memory_text"),
            models.Index(
                fields=("tenant", "space", "said_mac"), condition=models.Q(said_mac__isnull=False), name="memory_said"
            ),
            models.Index(
                fields=("tenant", "space", "actor_token"),
                condition=models.Q(actor_token__isnull=False),
                name="memory_actor",
            ),
            models.Index(
                fields=("tenant", "space", "slot"), condition=models.Q(slot__isnull=False), name="memory_slot"
            ),
            models.Index(fields=("tenant", "space", "-id"), condition=models.Q(pinned=True), name="memory_pinned"),
            models.Index(
                fields=("tenant", "space", "session_token", "id"),
                condition=models.Q(session_token__isnull=False),
                name="memory_session",
            ),
            models.Index(
                fields=("tenant", "expires_at"),
                condition=models.Q(retention_status__in=("active", "archived"), expires_at__isnull=False),
                name="memory_expires",
            ),
            models.Index(fields=("tenant", "key_version", "id"), name="memory_key_version"),
            # For queries about a time: see ``apps.memories.times``.
            models.Index("tenant", "space", Coalesce("event_at", "created_at"), "id", name="memory_said_at"),
            models.Index(
                "tenant",
                "space",
                RangeStartsWith("event_range"),
                condition=models.Q(event_range__isnull=False),
                name="memory_stretch",
            ),
            # For retention rules, each by the time that it counts from (``apps.memories.lifetimes``).
            models.Index("tenant", Greatest("created_at", "last_used_at"), condition=_IS_THERE, name="memory_ageing"),
            models.Index(fields=("tenant", "created_at"), condition=_IS_THERE, name="memory_stored"),
            models.Index(
                fields=("tenant", "archive_at"), condition=models.Q(retention_status="archived"), name="memory_archived"
            ),
            models.Index(
                fields=("tenant", "hard_delete_at"),
                condition=models.Q(retention_status__in=("soft_deleted", "hard_delete_pending")),
                name="memory_leaving",
            ),
            models.Index(
                fields=("tenant", "created_at"), condition=models.Q(type="event"), name="memory_ageing_events"
            ),
            models.Index(
                fields=("tenant", "superseded_at"), condition=models.Q(validity="superseded"), name="memory_replaced"
            ),
            # For erasures, which reach the copies in branches.
            models.Index(
                fields=("tenant", "copied_from"),
                condition=models.Q(copied_from__isnull=False),
                name="memory_copies",
            ),
            # For the database, when a referenced row is deleted.
            models.Index(
                fields=("tenant", "project"), condition=models.Q(project__isnull=False), name="memory_project"
            ),
            models.Index(
                fields=("tenant", "superseded_by"),
                condition=models.Q(superseded_by__isnull=False),
                name="memory_superseded_by",
            ),
        )

    def __str__(self) -> str:
        return f"memory {self.pk}"

    def is_live(self) -> bool:
        """Whether recall may return it, apart from its expiry."""
        return self.retention_status == Retention.ACTIVE and self.validity != Validity.SUPERSEDED


class SummarySource(ScopedModel):
    """A memory that a summary was made from.  It outlives the source, so that summaries of deleted memories are known.

    ``created_at`` is the source's.
    """

    space = models.ForeignKey("projects.Space", models.CASCADE, related_name="+", db_constraint=False, db_index=False)
    summary = models.ForeignKey(Memory, models.CASCADE, related_name="+", db_constraint=False, db_index=False)
    source_id = models.BigIntegerField()

    objects = ScopedManager["SummarySource"]()

    class Meta(ScopedModel.Meta):
        constraints = (models.UniqueConstraint(fields=("tenant", "summary", "source_id"), name="summary_source_once"),)
        indexes = (models.Index(fields=("tenant", "source_id"), name="summaries_of_source"),)

    def __str__(self) -> str:
        return f"{self.summary_id} from {self.source_id}"
