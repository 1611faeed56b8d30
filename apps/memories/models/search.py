"""Models for search: vectors and blinded words."""

import uuid

from django.db import models
from pgvector.django import BitField

from apps.core.fields import EncryptedField
from apps.core.scoping import ScopedManager, ScopedModel
from apps.memories.models.memory import Memory

DIMENSIONS = 384

EMBEDDING = "vector.embedding"  # the context bound into the envelope


class MemoryVector(ScopedModel):
    """A memory's embedding: encrypted, and for search the sign bits of its rotation under the space's key.

    A separate table, so that vectors can be made again, rekeyed or dropped alone.  ``live``, ``expires_at`` and
    ``project_id`` repeat the memory's, so that a search reads one index and nothing else.  Scores are measured on the
    decrypted embedding, which a new key does not change; a sealed space has no sign bits.
    """

    memory = models.OneToOneField(Memory, models.CASCADE, related_name="vector", db_constraint=False)
    space = models.ForeignKey("projects.Space", models.CASCADE, related_name="+", db_constraint=False, db_index=False)
    project_id = models.BigIntegerField(null=True)
    live = models.BooleanField(default=True)
    expires_at = models.DateTimeField(null=True)
    vector_id = models.UUIDField(default=uuid.uuid4)
    embedder = models.CharField(max_length=48)
    key_version = models.IntegerField()
    embedding_ct = EncryptedField(EMBEDDING)
    signs = BitField(length=DIMENSIONS, null=True)

    objects = ScopedManager["MemoryVector"]()

    class Meta(ScopedModel.Meta):
        constraints = (
            models.UniqueConstraint(fields=("tenant", "memory"), name="vector_one_per_memory"),
            models.UniqueConstraint(fields=("tenant", "vector_id"), name="vector_id_once"),
        )

    def __str__(self) -> str:
        return f"vector of {self.memory_id}"


class MemoryPosting(models.Model):
    """One keyed token of one memory, with its frequency (capped) and the text's length (rounded).

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
