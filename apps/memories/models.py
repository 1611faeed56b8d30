"""The one record, its vector, its blinded words and its history."""

import uuid
from datetime import datetime
from typing import Self

from django.contrib.postgres.fields import ArrayField, DateTimeRangeField
from django.db import models
from django.db.models import Q
from pgvector.django import BitField, HalfVectorField

from apps.core.scoping import InTenant, ScopedManager, ScopedModel, ScopedQuerySet
from apps.projects.scope import Environment, Scope

DIMENSIONS = 384


class Validity(models.TextChoices):
    """Is it the current truth?"""

    CURRENT = "current"
    SUPERSEDED = "superseded"
    DISPUTED = "disputed"


class Retention(models.TextChoices):
    """Does it exist, and for whom?  Anything but active is out of every recall path."""

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
    """Which memories?  Chainable questions."""

    def within(self, scope: InTenant) -> Self:
        """Rows of the scope's tenant, environment and spaces, of its project or of none."""
        rows = super().within(scope)
        if isinstance(scope, Scope):
            rows = rows.filter(environment=scope.environment, space_id__in=[space.id for space in scope.spaces])
            if scope.project_id is not None:
                rows = rows.filter(Q(project_id=scope.project_id) | Q(project_id=None))
        return rows

    def existing(self, now: datetime) -> Self:
        """Readable by id: active or archived, and not past its time."""
        return self.filter(retention_status__in=("active", "archived")).filter(
            Q(expires_at=None) | Q(expires_at__gt=now)
        )

    def live(self, now: datetime) -> Self:
        """What recall may return."""
        return self.existing(now).filter(retention_status="active").exclude(validity="superseded")

    def to_open(self) -> Self:
        """With the vector's label, and without the vector: what ``open_memory`` needs."""
        return self.select_related("vector").defer("vector__embedding", "vector__embedding_ct", "vector__signs")

    def expired_at(self, now: datetime) -> Self:
        return self.filter(retention_status="active", expires_at__lte=now)


class MemoryManager(ScopedManager["Memory"]):
    def within(self, scope: InTenant) -> MemoryQuerySet:
        return MemoryQuerySet(self.model, using=self._db).within(scope)

    def within_tenant(self, scope: InTenant) -> MemoryQuerySet:
        """Every space of the tenant: for work that tends all of them, never for an answer to somebody."""
        return MemoryQuerySet(self.model, using=self._db).filter(tenant_id=scope.tenant_id)


class Memory(ScopedModel):
    """One thing that someone wanted remembered.  Every ``…_ct`` column is sealed under the tenant's data key.

    validity says whether it is the current truth, retention_status whether it exists; nothing derives one from the
    other.  ``id`` is the only handle on the wire.
    """

    space = models.ForeignKey("projects.Space", models.CASCADE, related_name="+", db_constraint=False, db_index=False)
    project = models.ForeignKey(
        "projects.Project", models.SET_NULL, null=True, related_name="+", db_constraint=False, db_index=False
    )
    environment = models.CharField(max_length=16)
    public_id = models.CharField(max_length=36)
    updated_at = models.DateTimeField()
    created_txid = models.BigIntegerField()
    changed_txid = models.BigIntegerField()

    # what it is
    type = models.CharField(max_length=32)
    slot = models.BinaryField(max_length=16, null=True)
    value_mac = models.BinaryField(max_length=16, null=True)
    text_mac = models.BinaryField(max_length=16)

    # what it says, sealed
    key_version = models.IntegerField()
    text_ct = models.BinaryField()
    summary_ct = models.BinaryField(null=True)
    content_ct = models.BinaryField(null=True)
    keywords_ct = models.BinaryField(null=True)
    metadata_ct = models.BinaryField(null=True)
    label_ct = models.BinaryField(null=True, help_text="The canonical key, to show; the slot is for equality.")
    tags_ct = models.BinaryField(null=True)
    handles_ct = models.BinaryField(help_text="What the keyed handles below stand for, to key them anew.")
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

    # truth
    validity = models.CharField(max_length=12, choices=Validity, default=Validity.CURRENT)
    superseded_by = models.ForeignKey(
        "self", models.SET_NULL, null=True, related_name="+", db_constraint=False, db_index=False
    )
    superseded_at = models.DateTimeField(null=True)
    superseded_reason = models.CharField(max_length=16, blank=True)

    # existence
    retention_status = models.CharField(max_length=24, choices=Retention, default=Retention.ACTIVE)
    expires_at = models.DateTimeField(null=True)
    archive_at = models.DateTimeField(null=True)
    retention_expires_at = models.DateTimeField(null=True)
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

    # world time
    event_at = models.DateTimeField(null=True)
    event_precision = models.CharField(max_length=12, choices=Precision, blank=True)
    event_range = DateTimeRangeField(null=True)
    valid_from = models.DateTimeField(null=True)
    valid_to = models.DateTimeField(null=True)

    objects = MemoryManager()

    class Meta(ScopedModel.Meta):
        constraints = (
            models.UniqueConstraint(fields=("tenant", "id"), name="memory_in_tenant"),
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
            models.Index(fields=("tenant", "space", "text_mac"), name="memory_text"),
            models.Index(
                fields=("tenant", "space", "actor_token"),
                condition=models.Q(actor_token__isnull=False),
                name="memory_actor",
            ),
            models.Index(
                fields=("tenant", "space", "slot"), condition=models.Q(slot__isnull=False), name="memory_slot"
            ),
            models.Index(
                fields=("tenant", "space", "session_token", "id"),
                condition=models.Q(session_token__isnull=False),
                name="memory_session",
            ),
            models.Index(
                fields=("tenant", "expires_at"),
                condition=models.Q(retention_status="active", expires_at__isnull=False),
                name="memory_expiring",
            ),
            models.Index(fields=("tenant", "key_version", "id"), name="memory_key_version"),
            # What the database looks up when the row that these refer to goes.
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
        """In recall, its time aside."""
        return self.retention_status == Retention.ACTIVE and self.validity != Validity.SUPERSEDED


class MemoryVector(ScopedModel):
    """A memory's embedding: sealed as it is, and, to be searched, under the space's keyed rotation with its sign bits.

    A table of its own so that vectors can be made again, keyed again or dropped by themselves.  ``live``,
    ``expires_at`` and ``project_id`` repeat the memory's, so that a search reads one index and nothing else.  Scores
    are measured on the sealed form, which a new key does not change; a sealed space has no other.
    """

    memory = models.OneToOneField(Memory, models.CASCADE, related_name="vector", db_constraint=False)
    space = models.ForeignKey("projects.Space", models.CASCADE, related_name="+", db_constraint=False, db_index=False)
    project_id = models.BigIntegerField(null=True)
    live = models.BooleanField(default=True)
    expires_at = models.DateTimeField(null=True)
    vector_id = models.UUIDField(default=uuid.uuid4)
    embedder = models.CharField(max_length=48)
    key_version = models.IntegerField()
    embedding_ct = models.BinaryField()
    embedding = HalfVectorField(dimensions=DIMENSIONS, null=True)
    signs = models.GeneratedField(
        expression=models.Func("embedding", function="binary_quantize", output_field=BitField(length=DIMENSIONS)),
        output_field=BitField(length=DIMENSIONS),
        db_persist=True,
    )

    objects = ScopedManager["MemoryVector"]()

    class Meta(ScopedModel.Meta):
        constraints = (
            models.UniqueConstraint(fields=("tenant", "memory"), name="vector_one_per_memory"),
            models.UniqueConstraint(fields=("tenant", "vector_id"), name="vector_id_once"),
        )

    def __str__(self) -> str:
        return f"vector of {self.memory_id}"


class MemoryPosting(models.Model):
    """One keyed token of one memory: how often (capped) and in how long a text (rounded).

    Written and read by SQL in ``apps.memories.postings``; Django knows it for migrations and cascades.
    """

    pk = models.CompositePrimaryKey("tenant_id", "space_id", "token", "memory_id")
    tenant_id = models.BigIntegerField()
    space_id = models.BigIntegerField()
    token = models.BigIntegerField()
    memory_id = models.BigIntegerField()
    tf = models.SmallIntegerField()
    length = models.SmallIntegerField()

    class Meta:
        managed = False
        db_table = "memories_posting"

    def __str__(self) -> str:
        return f"token of {self.memory_id}"


class MemoryTransition(ScopedModel):
    """What happened to a memory, append only: ids, states and times; no content."""

    memory_id = models.BigIntegerField()
    space_id = models.BigIntegerField()
    txid = models.BigIntegerField()
    event = models.CharField(max_length=16)
    actor = models.CharField(max_length=64)
    other_id = models.BigIntegerField(null=True, help_text="The memory that replaced it, or that it replaced.")

    objects = ScopedManager["MemoryTransition"]()

    class Meta(ScopedModel.Meta):
        indexes = (models.Index(fields=("tenant", "memory_id", "id"), name="transition_of_memory"),)

    def __str__(self) -> str:
        return f"{self.event} {self.memory_id}"


class QuarantinedRow(ScopedModel):
    """A row that failed its seal: left out of every answer until it opens again.  Ids, codes and counts; no content.

    ``created_at`` is when it was first seen to fail.
    """

    table = models.CharField(max_length=48)
    record_id = models.BigIntegerField()
    space_id = models.BigIntegerField(null=True)
    reason = models.CharField(max_length=32)
    last_seen_at = models.DateTimeField()
    times = models.BigIntegerField(default=1)

    objects = ScopedManager["QuarantinedRow"]()

    class Meta(ScopedModel.Meta):
        constraints = (models.UniqueConstraint(fields=("tenant", "table", "record_id"), name="quarantined_once"),)

    def __str__(self) -> str:
        return f"{self.table} {self.record_id}: {self.reason}"
