"""Models of external objects, from which memories are made, and their links to those memories.

The text of an object is not stored: only a keyed digest of it, and of each passage that a memory states.
"""

from typing import Final

from django.contrib.postgres.fields import ArrayField
from django.db import models

from apps.core.fields import EncryptedField
from apps.core.scoping import ScopedManager, ScopedModel

ABOUT: Final = "external_object.about"  # the context bound into the envelope


class ObjectKind(models.TextChoices):
    """Where an object comes from: a caller of the API, a folder, a web page, a feed, a bucket."""

    API = "api"
    FILE = "file"
    PAGE = "page"
    ENTRY = "entry"
    BUCKET = "bucket"


class ExternalObject(ScopedModel):
    """A document that is stored elsewhere, as it was when it was last read.

    object_mac: keyed hash of its project, connector, kind and external id.  digest: of its title, tags and content;
    empty if it is to be read again.  version_mac: of the name that its source gives this content; empty if it gives
    none.  project_id: of the request.  connector_id: None if a caller sent it.
    size: bytes of its content.  revision: its version, counted from 1; bound into the envelope.
    created_at: when it was first seen.  seen_at: when it was last seen.  changed_at: when its last version was read.
    gone_at: since when it no longer exists.
    """

    space = models.ForeignKey("projects.Space", models.CASCADE, related_name="+", db_constraint=False, db_index=False)
    project_id = models.BigIntegerField(null=True)
    connector_id = models.BigIntegerField(null=True)
    kind = models.CharField(max_length=8, choices=ObjectKind)
    object_mac = models.BinaryField(max_length=16)
    digest = models.BinaryField(max_length=16)
    version_mac = models.BinaryField(max_length=16)
    size = models.BigIntegerField()
    revision = models.IntegerField(default=1)
    seen_at = models.DateTimeField()
    changed_at = models.DateTimeField()
    gone_at = models.DateTimeField(null=True)
    key_version = models.IntegerField()
    about_ct = EncryptedField(ABOUT, is_revised=True, is_json=True, help_text="Its external id and its title.")

    objects = ScopedManager["ExternalObject"]()

    class Meta(ScopedModel.Meta):
        constraints = (
            models.UniqueConstraint(fields=("tenant", "space", "object_mac"), name="external_object_once"),
            models.UniqueConstraint(fields=("tenant", "space", "id"), name="external_object_in_space"),
            models.CheckConstraint(condition=models.Q(kind__in=ObjectKind.values), name="external_object_kind"),
        )
        indexes = (
            models.Index(fields=("tenant", "space", "-id"), name="external_object_newest"),
            models.Index(
                fields=("tenant", "connector_id", "seen_at"),
                condition=models.Q(connector_id__isnull=False, gone_at__isnull=True),
                name="external_object_unseen",
            ),
            models.Index(fields=("tenant", "key_version", "id"), name="external_object_key_version"),
        )

    def __str__(self) -> str:
        return f"external object {self.pk}"


class ObjectMemory(ScopedModel):
    """Link from an external object to a memory that one or more of its passages state.

    passage_macs: keyed digests of those passages.  repetitions: how many times the memory's ``repetition_count`` counts
    this object.  withdrawn_at: since when the object no longer states the memory.
    """

    space = models.ForeignKey("projects.Space", models.CASCADE, related_name="+", db_constraint=False, db_index=False)
    object = models.ForeignKey(ExternalObject, models.CASCADE, related_name="+", db_constraint=False, db_index=False)
    memory = models.ForeignKey("memories.Memory", models.CASCADE, related_name="+", db_constraint=False, db_index=False)
    passage_macs = ArrayField(models.BinaryField(max_length=16))
    repetitions = models.IntegerField()
    withdrawn_at = models.DateTimeField(null=True)

    objects = ScopedManager["ObjectMemory"]()

    class Meta(ScopedModel.Meta):
        constraints = (models.UniqueConstraint(fields=("tenant", "object", "memory"), name="object_memory_once"),)
        indexes = (models.Index(fields=("tenant", "memory"), name="object_of_memory"),)

    def __str__(self) -> str:
        return f"memory {self.memory_id} of external object {self.object_id}"
