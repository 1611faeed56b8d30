"""Models of relations between memories, and of the types that a tenant adds to the built-in ones."""

from typing import Final

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import F, Q

from apps.core.fields import EncryptedField
from apps.core.scoping import ScopedManager, ScopedModel

METADATA, RESOLUTION = "edge.metadata", "edge.resolution"  # the contexts bound into the envelopes
EDGE: Final = "edge"  # the table's name in the quarantine


class MemoryEdge(ScopedModel):
    """A typed, directed relation from one memory to another.

    Foreign keys of three columns keep both memories in the edge's own space; a deleted memory's edges are deleted with
    it.  Visibility is never stored: every query derives it from both memories.
    """

    space = models.ForeignKey("projects.Space", models.CASCADE, related_name="+", db_constraint=False, db_index=False)
    from_memory = models.ForeignKey(
        "memories.Memory", models.CASCADE, related_name="+", db_constraint=False, db_index=False
    )
    to_memory = models.ForeignKey(
        "memories.Memory", models.CASCADE, related_name="+", db_constraint=False, db_index=False
    )
    type = models.CharField(max_length=32)
    confidence = models.FloatField(default=1.0)
    is_automatic = models.BooleanField(default=False, help_text="Found at a write; nobody stated it.")
    key_version = models.IntegerField()
    metadata_ct = EncryptedField(METADATA, is_revised=True, is_json=True, null=True)
    revision = models.IntegerField(default=0, help_text="Of what is sealed; bound into it.")

    # of a resolved contradiction
    resolved_at = models.DateTimeField(null=True)
    winner_id = models.BigIntegerField(null=True, help_text="Which end was found to be true.")
    resolution_ct = EncryptedField(RESOLUTION, is_revised=True, is_json=True, null=True)

    objects = ScopedManager["MemoryEdge"]()

    class Meta(ScopedModel.Meta):
        constraints = (
            models.UniqueConstraint(fields=("tenant", "from_memory", "to_memory", "type"), name="edge_once"),
            models.CheckConstraint(condition=~Q(from_memory=F("to_memory")), name="edge_no_loop"),
            models.CheckConstraint(condition=Q(confidence__gte=0.0, confidence__lte=1.0), name="edge_confidence"),
            models.CheckConstraint(
                condition=Q(winner_id=None) | Q(winner_id=F("from_memory")) | Q(winner_id=F("to_memory")),
                name="edge_winner_is_an_end",
            ),
        )
        indexes = (
            # The strongest edges of a memory, so that a hub of thousands costs no more than its best few.
            models.Index(fields=("tenant", "from_memory", "-confidence", "-id"), name="edge_out"),
            models.Index(fields=("tenant", "to_memory", "-confidence", "-id"), name="edge_in"),
            models.Index(fields=("tenant", "space", "-id"), name="edge_newest"),
            models.Index(
                fields=("tenant", "space", "-id"),
                condition=Q(type__in=("contradiction", "conflicts_with")),
                name="edge_decidable",
            ),
            models.Index(fields=("tenant", "key_version", "id"), name="edge_key_version"),
        )

    def __str__(self) -> str:
        return f"{self.from_memory_id} {self.type} {self.to_memory_id}"


class Ontology(ScopedModel):
    """The types that a tenant has added, in its own order.  Names, in clear."""

    content_types = ArrayField(models.CharField(max_length=32), default=list)
    relation_types = ArrayField(models.CharField(max_length=32), default=list)

    objects = ScopedManager["Ontology"]()

    class Meta(ScopedModel.Meta):
        constraints = (models.UniqueConstraint(fields=("tenant",), name="ontology_once"),)

    def __str__(self) -> str:
        return f"ontology of {self.tenant_id}"
