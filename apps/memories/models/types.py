"""Models of a tenant's own types and of the rules that assign them."""

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import Q

from apps.core.scoping import ScopedManager, ScopedModel


class OwnType(ScopedModel):
    """A content type that the tenant has added to the registry (``apps.memories.tenant_types``).

    group: the slot group; if empty, memories accumulate.  replaced_by: set when the type was sunset: the name used for
    its memories and its new writes.  fields: definitions (``apps.memories.type_fields``), not values.
    """

    name = models.CharField(max_length=32)
    parent = models.CharField(max_length=32, blank=True)
    group = models.CharField(max_length=48, blank=True)
    prior = models.FloatField()
    half_life_days = models.FloatField()
    ttl = models.DurationField(null=True)
    replaced_by = models.CharField(max_length=32, blank=True)
    fields = models.JSONField(default=list)

    objects = ScopedManager["OwnType"]()

    class Meta(ScopedModel.Meta):
        constraints = (
            models.UniqueConstraint(fields=("tenant", "name"), name="own_type_once"),
            models.CheckConstraint(condition=Q(prior__gte=0.0, prior__lte=0.2), name="own_type_prior"),
            models.CheckConstraint(condition=Q(half_life_days__gt=0.0), name="own_type_half_life"),
        )

    def __str__(self) -> str:
        return f"type {self.name}"


class TypeRule(ScopedModel):
    """A rule that assigns a memory to another type by its words or its key: a ``PhraseRule``.

    change_id: the change of types that added the rule; undoing it removes the rule.  Stored in clear, like names of
    types: it is the operator's vocabulary, not content of a memory.
    """

    change_id = models.BigIntegerField()
    type = models.CharField(max_length=32)
    name = models.CharField(max_length=32)
    sources = ArrayField(models.CharField(max_length=32))
    words = ArrayField(models.CharField(max_length=64), default=list)
    unless = ArrayField(models.CharField(max_length=64), default=list)
    key_prefix = models.CharField(max_length=64, blank=True)

    objects = ScopedManager["TypeRule"]()

    class Meta(ScopedModel.Meta):
        indexes = (models.Index(fields=("tenant", "id"), name="type_rules_in_order"),)

    def __str__(self) -> str:
        return f"{self.name} of {self.type}"
