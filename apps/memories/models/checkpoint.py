"""The model of checkpoints: names for moments of a space."""

from django.db import models

from apps.core.scoping import ScopedManager, ScopedModel


class MemoryCheckpoint(ScopedModel):
    """A name for the state of a space's memories after one change.  name: a label, stored unencrypted.

    txid: number of the change.  ``created_at`` is the time of the checkpoint.
    """

    space = models.ForeignKey("projects.Space", models.CASCADE, related_name="+", db_constraint=False, db_index=False)
    name = models.CharField(max_length=64)
    txid = models.BigIntegerField()
    created_by = models.CharField(max_length=64)

    objects = ScopedManager["MemoryCheckpoint"]()

    class Meta(ScopedModel.Meta):
        constraints = (models.UniqueConstraint(fields=("tenant", "space", "name"), name="checkpoint_name_once"),)

    def __str__(self) -> str:
        return f"checkpoint {self.pk}"
