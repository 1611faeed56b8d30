"""Models of data that is stored for its caller and never recalled: conversation turns, and a framework's state items.

Both take their ids from one sequence, which begins above any memory's id: see the migration.
"""

from typing import Final

from django.contrib.postgres.fields import ArrayField
from django.db import models

from apps.core.fields import EncryptedField
from apps.core.scoping import ScopedManager, ScopedModel

SEQUENCE: Final = "history_ids"

# The contexts bound into the envelopes.
CONTENT, ABOUT = "history_turn.content", "history_turn.about"
ITEM, EMBEDDING = "history_state.item", "history_state.embedding"


class HistoryTurn(ScopedModel):
    """One turn of a session.

    session_mac, source_mac: keyed hashes to find turns by session and source.  key_mac, position_mac: of the caller's
    idempotency key, and of number, role and content; a turn that repeats one of them is the same turn.  is_withheld: a
    memory made of it was erased; it stays for its owner, but no summary and no search contains it.
    """

    space = models.ForeignKey("projects.Space", models.CASCADE, related_name="+", db_constraint=False, db_index=False)
    session_mac = models.BinaryField(max_length=16)
    source_mac = models.BinaryField(max_length=16)
    key_mac = models.BinaryField(max_length=16, null=True)
    position_mac = models.BinaryField(max_length=16, null=True)
    seq = models.BigIntegerField(null=True)
    is_withheld = models.BooleanField(default=False, db_default=False)
    key_version = models.IntegerField()
    content_ct = EncryptedField(CONTENT)
    about_ct = EncryptedField(
        ABOUT, is_json=True, help_text="Session, source, role and the rest of what the caller sent with it."
    )

    objects = ScopedManager["HistoryTurn"]()

    class Meta(ScopedModel.Meta):
        constraints = (
            models.UniqueConstraint(
                fields=("tenant", "space", "key_mac"),
                condition=models.Q(key_mac__isnull=False),
                name="turn_once_per_key",
            ),
            models.UniqueConstraint(
                fields=("tenant", "space", "position_mac"),
                condition=models.Q(position_mac__isnull=False),
                name="turn_once_per_position",
            ),
        )
        indexes = (
            models.Index(fields=("tenant", "space", "session_mac", "id"), name="turn_of_session"),
            models.Index(fields=("tenant", "space", "-id"), name="turn_newest"),
            models.Index(fields=("tenant", "key_version", "id"), name="turn_key_version"),
        )

    def __str__(self) -> str:
        return f"turn h_{self.pk}"


class StateItem(ScopedModel):
    """The one live object under a source, a namespace and a key.

    item_mac: a keyed hash of all three.  namespace_mac: of source and namespace.  prefix_macs: of the source with each
    prefix of the namespace, including the empty and the whole one.  embedding_ct: null if it is not indexed, or not
    yet.
    """

    space = models.ForeignKey("projects.Space", models.CASCADE, related_name="+", db_constraint=False, db_index=False)
    item_mac = models.BinaryField(max_length=16)
    namespace_mac = models.BinaryField(max_length=16)
    prefix_macs = ArrayField(models.BinaryField(max_length=16))
    revision = models.IntegerField(default=0, help_text="Of the value; bound into its seals.")
    updated_at = models.DateTimeField()
    expires_at = models.DateTimeField(null=True)
    is_indexed = models.BooleanField(default=True)
    embedder = models.CharField(max_length=48, blank=True)
    key_version = models.IntegerField()
    item_ct = EncryptedField(
        ITEM, is_revised=True, is_json=True, help_text="Namespace, key, source, value, text and metadata."
    )
    embedding_ct = EncryptedField(EMBEDDING, is_revised=True, null=True)

    objects = ScopedManager["StateItem"]()

    class Meta(ScopedModel.Meta):
        constraints = (models.UniqueConstraint(fields=("tenant", "space", "item_mac"), name="state_item_once"),)
        indexes = (
            models.Index(fields=("tenant", "space", "-updated_at", "-id"), name="state_newest"),
            models.Index(fields=("tenant", "space", "namespace_mac"), name="state_namespace"),
            models.Index(
                fields=("tenant", "expires_at"), condition=models.Q(expires_at__isnull=False), name="state_expires"
            ),
            models.Index(fields=("tenant", "key_version", "id"), name="state_key_version"),
        )

    def __str__(self) -> str:
        return f"state h_{self.pk}"
