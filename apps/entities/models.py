"""Models of the entities that memories are about: their names, mentions and relations.

An entity has no content of its own: its names and facts belong to the memories that state them, and are deleted with
them.
"""

from django.db import models
from django.db.models import Q

from apps.core.fields import EncryptedField
from apps.core.scoping import ScopedManager, ScopedModel
from text.vocabulary import ENTITY_TYPES

ALIAS, CLAIM = "entity.alias", "entity.claim"  # the contexts bound into the envelopes


class Entity(ScopedModel):
    """A person or a thing, known in one space.

    merged_into: the entity that this one was merged into; its names, mentions and claims have moved there.  A database
    trigger deletes an entity with its last mention and claim.
    """

    space = models.ForeignKey("projects.Space", models.CASCADE, related_name="+", db_constraint=False, db_index=False)
    type = models.CharField(max_length=16, blank=True)
    is_user = models.BooleanField(default=False, help_text="The end user themselves.")
    needs_review = models.BooleanField(default=False, help_text="It may be another that is known, or two.")
    merged_into = models.ForeignKey(
        "self", models.CASCADE, null=True, related_name="+", db_constraint=False, db_index=False
    )

    objects = ScopedManager["Entity"]()

    class Meta(ScopedModel.Meta):
        constraints = (
            models.UniqueConstraint(fields=("tenant", "space", "id"), name="entity_in_space"),
            models.UniqueConstraint(fields=("tenant", "space"), condition=Q(is_user=True), name="entity_one_user"),
            models.CheckConstraint(condition=Q(type="") | Q(type__in=ENTITY_TYPES), name="entity_type"),
        )
        indexes = (
            models.Index(fields=("tenant", "space", "type", "-id"), name="entity_newest_of_type"),
            models.Index(
                fields=("tenant", "space", "merged_into"), condition=Q(merged_into__isnull=False), name="entity_merged"
            ),
        )

    def __str__(self) -> str:
        return f"entity {self.pk}"


class EntityAlias(ScopedModel):
    """A name of an entity, encrypted, with a keyed hash to find it by.

    is_role: a name for what a person does, which another may have tomorrow.  parent: the name that this one is a short
    form of, until someone uses it.  origin_id: the first entity with this name.
    """

    space = models.ForeignKey("projects.Space", models.CASCADE, related_name="+", db_constraint=False, db_index=False)
    entity = models.ForeignKey(Entity, models.CASCADE, related_name="+", db_constraint=False, db_index=False)
    parent = models.ForeignKey("self", models.CASCADE, null=True, related_name="+", db_constraint=False, db_index=False)
    origin_id = models.BigIntegerField()
    alias_mac = models.BinaryField(max_length=16)
    alias_ct = EncryptedField(ALIAS, label="name")
    key_version = models.IntegerField()
    is_role = models.BooleanField(default=False)

    objects = ScopedManager["EntityAlias"]()

    class Meta(ScopedModel.Meta):
        constraints = (
            models.UniqueConstraint(fields=("tenant", "id"), name="entity_alias_in_tenant"),
            models.UniqueConstraint(fields=("tenant", "origin_id", "alias_mac"), name="entity_alias_once"),
        )
        indexes = (
            models.Index(fields=("tenant", "space", "alias_mac"), name="entity_by_alias"),
            models.Index(fields=("tenant", "space", "entity"), name="aliases_of_entity"),
            models.Index(fields=("tenant", "space", "-id"), name="entity_alias_newest"),
            models.Index(fields=("tenant", "parent"), condition=Q(parent__isnull=False), name="entity_alias_short"),
            models.Index(fields=("tenant", "key_version", "id"), name="entity_alias_key_version"),
        )

    def __str__(self) -> str:
        return f"alias {self.pk} of {self.entity_id}"


class How(models.TextChoices):
    """How the words were matched to the entity."""

    NEW = "new"
    EXACT = "exact"
    PART = "part", "as a part of a name"
    PRONOUN = "pronoun"
    TRIGRAM = "trigram"
    JUDGE = "judge"
    USER = "user"


class EntityMention(ScopedModel):
    """A memory mentions an entity.  alias: the name used; null for a pronoun.  is_unsure: others have that name too."""

    space = models.ForeignKey("projects.Space", models.CASCADE, related_name="+", db_constraint=False, db_index=False)
    entity = models.ForeignKey(Entity, models.CASCADE, related_name="+", db_constraint=False, db_index=False)
    memory = models.ForeignKey("memories.Memory", models.CASCADE, related_name="+", db_constraint=False, db_index=False)
    alias = models.ForeignKey(
        EntityAlias, models.SET_NULL, null=True, related_name="+", db_constraint=False, db_index=False
    )
    origin_id = models.BigIntegerField()
    how = models.CharField(max_length=8, choices=How)
    is_unsure = models.BooleanField(default=False)

    objects = ScopedManager["EntityMention"]()

    class Meta(ScopedModel.Meta):
        indexes = (
            models.Index(fields=("tenant", "memory", "entity"), name="entity_mentions_of_memory"),
            models.Index(fields=("tenant", "space", "entity", "-memory"), name="mentions_of_entity"),
            models.Index(fields=("tenant", "alias"), condition=Q(alias__isnull=False), name="mentions_by_alias"),
        )

    def __str__(self) -> str:
        return f"{self.entity_id} in {self.memory_id}"


class EntityClaim(ScopedModel):
    """What a memory states about an entity: a relation to another, or a fact.  Predicate and value are encrypted."""

    space = models.ForeignKey("projects.Space", models.CASCADE, related_name="+", db_constraint=False, db_index=False)
    memory = models.ForeignKey("memories.Memory", models.CASCADE, related_name="+", db_constraint=False, db_index=False)
    subject = models.ForeignKey(Entity, models.CASCADE, related_name="+", db_constraint=False, db_index=False)
    object = models.ForeignKey(Entity, models.CASCADE, null=True, related_name="+", db_constraint=False, db_index=False)
    subject_origin_id = models.BigIntegerField()
    object_origin_id = models.BigIntegerField(null=True)
    claim_ct = EncryptedField(CLAIM, is_json=True)
    key_version = models.IntegerField()

    objects = ScopedManager["EntityClaim"]()

    class Meta(ScopedModel.Meta):
        indexes = (
            models.Index(fields=("tenant", "memory"), name="entity_claims_of_memory"),
            models.Index(fields=("tenant", "space", "subject", "-memory"), name="entity_claims_of"),
            models.Index(
                fields=("tenant", "space", "object", "-memory"),
                condition=Q(object__isnull=False),
                name="entity_claims_on",
            ),
            models.Index(fields=("tenant", "key_version", "id"), name="entity_claim_key_version"),
        )

    def __str__(self) -> str:
        return f"claim of {self.memory_id} about {self.subject_id}"
