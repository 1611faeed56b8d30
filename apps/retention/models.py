"""The erasure ledger: what was erased, and may come back with no backup of the data."""

from django.db import models

from apps.crypto.models import InKeyring


class ErasedKind(models.TextChoices):
    SPACE = "space"
    TENANT = "tenant"
    MEMORY = "memory"


class ErasureEntry(InKeyring, models.Model):
    """One erasure.  In the keyring database, so that it survives a restore of the data; append only; no content.

    target_uid: of a space or a tenant.  target_id: of a memory.  Ids of memories come anew after a restore, so that an
    entry speaks of the row of that id which was there at ``erased_at``.
    """

    id = models.BigAutoField(primary_key=True)
    tenant_uid = models.UUIDField()
    kind = models.CharField(max_length=8, choices=ErasedKind)
    target_uid = models.UUIDField(null=True)
    target_id = models.BigIntegerField(null=True)
    erased_at = models.DateTimeField()
    actor = models.CharField(max_length=64)
    request_id = models.CharField(max_length=64, blank=True)

    class Meta:
        constraints = (
            models.UniqueConstraint(fields=("kind", "target_uid"), name="erased_once"),
            models.CheckConstraint(condition=models.Q(kind__in=ErasedKind.values), name="erasure_kind"),
            models.CheckConstraint(
                condition=models.Q(kind=ErasedKind.MEMORY, target_id__isnull=False, target_uid__isnull=True)
                | (~models.Q(kind=ErasedKind.MEMORY) & models.Q(target_id__isnull=True, target_uid__isnull=False)),
                name="erasure_names_its_target",
            ),
        )
        indexes = (models.Index(fields=("tenant_uid", "id"), name="erasures_of_tenant"),)

    def __str__(self) -> str:
        return f"{self.kind} {self.target_uid or self.target_id}"
