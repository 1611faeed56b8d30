"""API keys: the identity of an application, its environments, and its permissions."""

from typing import ClassVar, Final

from django.contrib.postgres.fields import ArrayField
from django.db import models

from apps.core.bound import BoundModel
from apps.core.scoping import ScopedManager, ScopedModel
from apps.projects.scope import Environment

ENVIRONMENTS: Final = [value.value for value in Environment]


class HasEnvironments(models.Model):
    """environment: the home, where a key works unless the request names another.  other_environments: those it may
    name; given when the key is created, and never changed."""

    environment = models.CharField(max_length=16)
    other_environments = ArrayField(models.CharField(max_length=16), default=list, db_default=[])

    class Meta:
        abstract = True

    @property
    def environments(self) -> list[str]:
        """All of them, the home first."""
        return [self.environment, *self.other_environments]


class ApiKey(HasEnvironments, BoundModel, ScopedModel):
    """Credentials for one or more environments, a set of scopes, and optionally one project.  The secret is shown once,
    never stored.

    namespace_id, profile_id: of a token, rows of ``EndUser`` (``apps.memories.spaces``): it works on the routes of that
    namespace, or of that profile, alone.  issued_by_id: the key that created the token; revoked with it.
    account_id, end_user_id: of a client that a person connected through OAuth (``apps.apikeys.oauth``): it acts for
    that person, about that end user alone, and its text is unknown.
    """

    bound_as: ClassVar = "api_key"
    bound_fields: ClassVar = (
        "id", "kid", "digest", "tenant_id", "environment", "scopes", "project_id", "created_at", "expires_at",
        "revoked_at",
    )  # fmt: skip
    later_fields: ClassVar = (
        "other_environments", "namespace_id", "profile_id", "issued_by_id", "account_id", "end_user_id",
    )  # fmt: skip

    name = models.CharField(max_length=128)
    kid = models.CharField(max_length=11, unique=True, editable=False)
    digest = models.BinaryField(max_length=32, editable=False)
    pepper_version = models.IntegerField(default=1, editable=False)
    scopes = ArrayField(models.CharField(max_length=48))
    project = models.ForeignKey("projects.Project", models.CASCADE, null=True, blank=True, db_constraint=False)
    namespace_id = models.BigIntegerField(null=True, editable=False)
    profile_id = models.BigIntegerField(null=True, editable=False)
    issued_by_id = models.BigIntegerField(null=True, editable=False)
    account_id = models.BigIntegerField(null=True, editable=False)
    end_user_id = models.BigIntegerField(null=True, editable=False)
    expires_at = models.DateTimeField(null=True, blank=True)
    revoked_at = models.DateTimeField(null=True, blank=True)
    last_used_at = models.DateTimeField(null=True, blank=True)

    objects = ScopedManager["ApiKey"]()

    class Meta(ScopedModel.Meta):
        ordering = ("-id",)
        constraints = (
            models.CheckConstraint(condition=models.Q(environment__in=ENVIRONMENTS), name="api_key_environment"),
            models.CheckConstraint(
                condition=models.Q(other_environments__contained_by=ENVIRONMENTS), name="api_key_other_environments"
            ),
        )
        indexes = (
            models.Index(
                fields=("tenant", "issued_by_id"),
                condition=models.Q(issued_by_id__isnull=False),
                name="api_keys_issued_by",
            ),
        )

    def __str__(self) -> str:
        return f"{self.prefix}… ({self.name})"

    @property
    def is_token(self) -> bool:
        """Whether it is confined: to a namespace, to a profile, or to what a person gave a client."""
        return any(one is not None for one in (self.namespace_id, self.profile_id, self.account_id))

    @property
    def prefix(self) -> str:
        """The public part: enough to recognise a key, useless for authentication."""
        label = {"production": "live", "staging": "test", "development": "dev"}[self.environment]
        return f"ms_{label}_{self.kid}"


class TenantQuota(ScopedModel):
    """A tenant's monthly quota.  Without a row there is no limit."""

    mode = models.CharField(max_length=8, default="off")
    adds = models.BigIntegerField(null=True)
    retrievals = models.BigIntegerField(null=True)

    objects = ScopedManager["TenantQuota"]()

    class Meta(ScopedModel.Meta):
        constraints = (
            models.UniqueConstraint(fields=("tenant",), name="quota_of_tenant"),
            models.CheckConstraint(condition=models.Q(mode__in=("off", "strict", "silent")), name="quota_mode"),
        )

    def __str__(self) -> str:
        return f"{self.tenant_id}: {self.mode}"


class QuotaUse(ScopedModel):
    """A tenant's usage of a quota in one month."""

    month = models.CharField(max_length=7)
    meter = models.CharField(max_length=16)
    used = models.BigIntegerField(default=0)

    objects = ScopedManager["QuotaUse"]()

    class Meta(ScopedModel.Meta):
        constraints = (models.UniqueConstraint(fields=("tenant", "month", "meter"), name="quota_use_once"),)

    def __str__(self) -> str:
        return f"{self.month} {self.meter}: {self.used}"


class RateWindow(models.Model):
    """Number of a caller's requests in a time window.  An unlogged table: losing it costs one window."""

    id = models.BigAutoField(primary_key=True)
    caller = models.CharField(max_length=64)
    seconds = models.IntegerField()
    window = models.BigIntegerField()
    count = models.IntegerField(default=1)

    class Meta:
        constraints = (models.UniqueConstraint(fields=("caller", "seconds", "window"), name="rate_window_once"),)

    def __str__(self) -> str:
        return f"{self.caller} {self.seconds}s"


class KeyOffer(HasEnvironments, ScopedModel):
    """A key that an operator offers and an owner of the tenant creates; only the owner sees its text.

    old_key_id: of the key that it replaces, with ``grace_hours``; the other values are then copied from that key.
    offered_by, decided_by: accounts.  key_id: of the created key.
    """

    name = models.CharField(max_length=128)
    scopes = ArrayField(models.CharField(max_length=48))
    project = models.ForeignKey(
        "projects.Project", models.CASCADE, null=True, blank=True, db_index=False, db_constraint=False
    )
    days = models.IntegerField()
    old_key_id = models.BigIntegerField(null=True, blank=True)
    grace_hours = models.IntegerField(null=True, blank=True)
    offered_by = models.BigIntegerField()
    expires_at = models.DateTimeField()
    accepted_at = models.DateTimeField(null=True, blank=True)
    declined_at = models.DateTimeField(null=True, blank=True)
    decided_by = models.BigIntegerField(null=True, blank=True)
    key_id = models.BigIntegerField(null=True, blank=True)

    objects = ScopedManager["KeyOffer"]()

    class Meta(ScopedModel.Meta):
        ordering = ("-id",)
        indexes = (models.Index(fields=("tenant", "project"), name="key_offer_project"),)
        constraints = (
            models.CheckConstraint(condition=models.Q(environment__in=ENVIRONMENTS), name="key_offer_environment"),
            models.CheckConstraint(
                condition=models.Q(other_environments__contained_by=ENVIRONMENTS), name="key_offer_other_environments"
            ),
            models.CheckConstraint(
                condition=models.Q(accepted_at=None) | models.Q(declined_at=None), name="key_offer_decided_once"
            ),
        )

    def __str__(self) -> str:
        return f"offer {self.pk} ({self.name})"
