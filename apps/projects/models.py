"""Projects and spaces.  Every memory belongs to a space."""

import secrets
import uuid
from typing import ClassVar

from django.db import models

from apps.core.bound import BoundModel
from apps.core.scoping import ScopedManager, ScopedModel
from apps.projects.scope import Environment, SpaceKind, SpaceRef
from apps.tenants.models import Profile


def new_project_id() -> str:
    return f"proj_{secrets.token_hex(8)}"


class Review(models.TextChoices):
    """Which memories extracted from end users' words wait for review."""

    BY_DOOR = "by_door", "Uncertain candidates from conversations, and nothing else"
    OFF = "off", "Nothing"
    LOW_CONFIDENCE = "low_confidence", "Uncertain candidates"
    ALL = "all", "Everything"


class Project(ScopedModel):
    """A workload of a tenant.  Every tenant has one default project."""

    public_id = models.CharField(max_length=64, default=new_project_id)
    name = models.CharField(max_length=200)
    is_default = models.BooleanField(default=False)
    archived_at = models.DateTimeField(null=True, blank=True)
    updated_at = models.DateTimeField(null=True, blank=True)
    # Also a database default: the previous version inserts projects without it.
    review = models.CharField(max_length=16, choices=Review, default=Review.BY_DOOR, db_default=Review.BY_DOOR.value)

    objects = ScopedManager["Project"]()

    class Meta(ScopedModel.Meta):
        ordering = ("name", "id")
        constraints = (
            models.UniqueConstraint(fields=("tenant", "public_id"), name="project_public_id"),
            models.UniqueConstraint(fields=("tenant", "id"), name="project_in_tenant"),
            models.UniqueConstraint(
                fields=("tenant",), condition=models.Q(is_default=True), name="project_one_default"
            ),
            models.CheckConstraint(condition=models.Q(review__in=Review.values), name="project_review"),
        )

    def __str__(self) -> str:
        return self.name


class Space(BoundModel, ScopedModel):
    """(tenant, environment, kind, owner): one vector namespace, one set of derived keys, one shred salt, one txid.

    namespace_id: of the profile's namespace, a row of ``EndUser`` (``apps.memories.spaces``); None in none.
    doc_count and term_total are the BM25 statistics of the indexed memories: their number and their number of terms.
    branch, origin_uid, expires_at: of a branch, a temporary copy of its owner's space (``apps.memories.branches``).
    """

    bound_as: ClassVar = "space"
    bound_fields: ClassVar = ("tenant_id", "uid", "environment", "kind", "owner_id")
    later_fields: ClassVar = ("namespace_id", "branch", "origin_uid", "expires_at")

    uid = models.UUIDField(default=uuid.uuid4, editable=False)
    environment = models.CharField(max_length=16)
    kind = models.CharField(max_length=16)
    profile = models.CharField(max_length=12, choices=Profile, default=Profile.SEARCHABLE)
    identity_version = models.IntegerField(default=1, help_text="Of the identity key that its handles are made with.")
    owner_id = models.BigIntegerField()
    namespace_id = models.BigIntegerField(null=True)
    txid = models.BigIntegerField(default=0)
    doc_count = models.BigIntegerField(default=0)
    term_total = models.BigIntegerField(default=0)
    # Also a database default: the previous version inserts spaces without it.
    branch = models.CharField(max_length=64, blank=True, default="", db_default="", help_text="Empty: no branch.")
    origin_uid = models.UUIDField(null=True, editable=False, help_text="The space that a branch was copied from.")
    expires_at = models.DateTimeField(null=True)

    objects = ScopedManager["Space"]()

    class Meta(ScopedModel.Meta):
        constraints = (
            models.UniqueConstraint(fields=("tenant", "environment", "kind", "owner_id", "branch"), name="space_once"),
            models.UniqueConstraint(fields=("tenant", "uid"), name="space_uid"),
            models.UniqueConstraint(fields=("tenant", "id"), name="space_in_tenant"),
            models.CheckConstraint(
                condition=models.Q(environment__in=[value.value for value in Environment]), name="space_environment"
            ),
            models.CheckConstraint(condition=models.Q(profile__in=Profile.values), name="space_profile"),
            models.CheckConstraint(
                condition=models.Q(kind__in=[value.value for value in SpaceKind]), name="space_kind"
            ),
        )
        indexes = (
            models.Index(
                fields=("tenant", "namespace_id"),
                condition=models.Q(namespace_id__isnull=False),
                name="spaces_of_namespace",
            ),
            models.Index(
                fields=("tenant", "origin_uid"), condition=models.Q(origin_uid__isnull=False), name="space_branches"
            ),
        )

    def __str__(self) -> str:
        branch = f", branch {self.branch}" if self.branch else ""
        return f"{self.kind} {self.owner_id} ({self.environment}{branch})"

    @property
    def ref(self) -> SpaceRef:
        return SpaceRef(
            id=self.pk,
            uid=self.uid,
            environment=Environment(self.environment),
            kind=SpaceKind(self.kind),
            owner_id=self.owner_id,
            identity_version=self.identity_version,
            is_sealed=self.profile == Profile.SEALED,
            branch=self.branch,
            origin_uid=self.origin_uid,
            expires_at=self.expires_at,
        )
