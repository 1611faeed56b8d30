"""Models: wrapped keys and salts in the keyring database, and the key versions in use in the main database.

The two databases have separate backups.  Old backups of the data contain no keys and no salts, so destroying a key or
a salt also makes these backups unreadable.
"""

from datetime import timedelta
from typing import ClassVar, Final

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models.functions import Now

from apps.core.scoping import ScopedManager, ScopedModel

READING_WINDOW: Final = timedelta(days=30)  # how long the previous key may still be read
COMPROMISED: Final = "compromised"  # the reason stored with a compromised key


class InKeyring:
    """Marks a model whose table is in the keyring database.

    A plain class, not an abstract model: migrations keep it in the model's bases, where the database router finds it.
    """

    database: ClassVar[str] = "keyring"


class KeyState(models.TextChoices):
    """pending -> active -> read_only -> retired -> destroyed.

    A trigger allows only these steps, and a direct step to destroyed.  Retired keys are kept for restores and never
    loaded for a request.
    """

    PENDING = "pending"
    ACTIVE = "active"
    READ_ONLY = "read_only"
    RETIRED = "retired"
    DESTROYED = "destroyed"


class KeyKind(models.TextChoices):
    ROOT = "root", "Content, terms and vectors: rotates"
    IDENTITY = "identity", "Ids and slots: rotates only on compromise"


class ServiceName(models.TextChoices):
    PEPPER = "pepper"
    CURSOR = "cursor"
    AUDIT = "audit"
    RECEIPT = "receipt"
    FACTORS = "factors"
    ROWS = "rows"


class WrappedKey(models.Model):
    """A key wrapped by the KMS provider.  ``check_value`` ties the row to exactly one key; see ``keyring.unwrap``."""

    id = models.BigAutoField(primary_key=True)
    version = models.IntegerField()
    wrapped = models.BinaryField(null=True)
    kek_provider = models.CharField(max_length=32)
    kek_ref = models.TextField()
    kek_version = models.CharField(max_length=64)
    check_value = models.BinaryField(max_length=16)
    state = models.CharField(max_length=12, choices=KeyState, default=KeyState.PENDING)
    created_at = models.DateTimeField(db_default=Now())

    class Meta:
        abstract = True


def _key_checks(name: str) -> tuple[models.CheckConstraint, ...]:
    return (
        models.CheckConstraint(condition=models.Q(state__in=KeyState.values), name=f"{name}_state"),
        models.CheckConstraint(condition=models.Q(version__gte=1), name=f"{name}_version"),
        models.CheckConstraint(
            # A destroyed key has no wrapped bytes; its row stays as evidence.
            condition=models.Q(state=KeyState.DESTROYED, wrapped__isnull=True)
            | (~models.Q(state=KeyState.DESTROYED) & models.Q(wrapped__isnull=False)),
            name=f"{name}_destroyed_has_no_bytes",
        ),
    )


class TenantKey(InKeyring, WrappedKey):
    """One version of a tenant's root or identity key."""

    tenant_uid = models.UUIDField()
    kind = models.CharField(max_length=12, choices=KeyKind)
    activated_at = models.DateTimeField(null=True)
    read_only_until = models.DateTimeField(null=True)
    retired_at = models.DateTimeField(null=True)
    destroyed_at = models.DateTimeField(null=True)
    reason = models.CharField(max_length=64, blank=True)
    seals = models.BigIntegerField(default=0, help_text="About how many values were sealed under it.")

    class Meta:
        constraints = (
            models.UniqueConstraint(fields=("tenant_uid", "kind", "version"), name="tenant_key_once"),
            models.UniqueConstraint(
                fields=("tenant_uid", "kind"), condition=models.Q(state=KeyState.ACTIVE), name="tenant_key_one_active"
            ),
            models.CheckConstraint(condition=models.Q(kind__in=KeyKind.values), name="tenant_key_kind"),
            *_key_checks("tenant_key"),
        )

    def __str__(self) -> str:
        return f"{self.kind} key {self.version} of {self.tenant_uid} ({self.state})"


class SpaceSecret(InKeyring, models.Model):
    """The salt needed to derive every key of a space.  Destroying it shreds the space.

    A tenant has a salt too, under its own uid, for data that belongs to no space.
    """

    space_uid = models.UUIDField(primary_key=True)
    tenant_uid = models.UUIDField()
    salt = models.BinaryField(max_length=32, null=True)
    destroyed_at = models.DateTimeField(null=True)

    class Meta:
        indexes = (models.Index(fields=("tenant_uid",), name="space_secret_of_tenant"),)
        constraints = (
            models.CheckConstraint(
                condition=models.Q(salt__isnull=True, destroyed_at__isnull=False)
                | models.Q(salt__isnull=False, destroyed_at__isnull=True),
                name="space_secret_destroyed_has_no_salt",
            ),
        )

    def __str__(self) -> str:
        return f"salt of {self.space_uid}" + (" (destroyed)" if self.destroyed_at else "")


class ServiceKey(InKeyring, WrappedKey):
    """One version of a key of the whole deployment."""

    name = models.CharField(max_length=16, choices=ServiceName)

    class Meta:
        constraints = (
            models.UniqueConstraint(fields=("name", "version"), name="service_key_once"),
            models.UniqueConstraint(
                fields=("name",), condition=models.Q(state=KeyState.ACTIVE), name="service_key_one_active"
            ),
            models.CheckConstraint(condition=models.Q(name__in=ServiceName.values), name="service_key_name"),
            *_key_checks("service_key"),
        )

    def __str__(self) -> str:
        return f"{self.name} key {self.version} ({self.state})"


class TenantKeyState(ScopedModel):
    """The key versions in use for a tenant.  In the main database, where writers lock the row FOR SHARE.

    live_versions: root key versions that may be read, the active one included.  identity_version: version of the
    identity key for the tenant's own lookups; each space has its own, because spaces are rekeyed one after the other.
    key_epoch: raised by every change, so that processes drop their cached keys.
    """

    tenant = models.OneToOneField("tenants.Tenant", models.CASCADE, related_name="+")
    active_version = models.IntegerField(default=1)
    live_versions = ArrayField(models.IntegerField())
    identity_version = models.IntegerField(default=1)
    key_epoch = models.BigIntegerField(default=1)
    compromised = models.BooleanField(default=False)

    objects = ScopedManager["TenantKeyState"]()

    def __str__(self) -> str:
        return f"tenant {self.tenant_id}: key {self.active_version} of {self.live_versions}"
