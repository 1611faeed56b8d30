"""Organizations, tenants, members and end users.  An organization owns tenants; a tenant is the isolation boundary and
owns keys, projects and spaces."""

import uuid
from typing import ClassVar

from django.db import models

from apps.core.bound import BoundModel
from apps.core.fields import EncryptedField
from apps.core.models import BaseModel
from apps.core.scoping import ScopedManager, ScopedModel

EXTERNAL_ID = "end_user.external_id"  # context bound into the encryption


class Organization(BaseModel):
    """A team of users.  May own several tenants."""

    name = models.CharField(max_length=100)
    domain = models.CharField(
        max_length=253, blank=True, default="", db_default="", help_text="As they say; unchecked."
    )

    class Meta:
        ordering = ("name", "id")

    def __str__(self) -> str:
        return self.name


class KeyDeletes(models.TextChoices):
    """What an API key may do to memories.  Never a hard delete: that requires a user, in a browser, after a step-up."""

    DENY = "deny", "Refuse every delete"
    RETIRE = "retire", "Retire: hidden at once, restorable for 7 days"


class Profile(models.TextChoices):
    """Which parts of a space the database can search while encrypted."""

    SEARCHABLE = "searchable", "Keyed words and vectors: searched by the database"
    SEALED = "sealed", "Nothing: opened and searched in process; for small, sensitive spaces"


class Changes(models.TextChoices):
    """What happens when a new value contradicts a stored claim about an end user."""

    REPLACE = "replace", "The newer value replaces the older one"
    DISPUTE = "dispute", "Both stand, disputed, until somebody decides"


class Instructions(models.TextChoices):
    """What happens to an instruction found by extraction in a text that no one asked to remember."""

    STYLE = "style", "A user's own wish about answers takes effect or is a preference; all others wait"
    REVIEW = "review", "It waits for review: a planted one must never take effect"
    KEEP = "keep", "It takes effect at once"


class SessionSummaries(models.TextChoices):
    """Whether sessions are summarized without being asked.  A summary is recalled; stored turns are not."""

    OFF = "off", "Only when a caller asks"
    ON = "on", "After 20 turns, and 10 minutes after the last"


class Egress(models.TextChoices):
    """Whether an external model endpoint may receive what the tenant's end users say."""

    ALLOW = "allow", "To any that the operator has named"
    SELF_HOSTED_ONLY = "self_hosted_only", "To one that the operator runs"
    DENY = "deny", "To none"


class BreakGlass(models.TextChoices):
    """Whether an operator may read a space for half an hour, with a reason and a second operator's approval."""

    DENY = "deny", "No operator reads anything"
    NOTIFY = "notify", "Two operators are enough; the tenant sees it and can end it"
    ASK = "ask", "An owner of the tenant allows it each time"


class SecondFactor(models.TextChoices):
    """Whether a password is sufficient to confirm API actions, for users without a second factor."""

    NO = "no", "Of those who have one; of others the password, shown again"
    YES = "yes", "Of everybody"


class Tenant(BoundModel, BaseModel):
    """The isolation boundary.  ``uid`` is bound into its keys and ciphertexts and never changes."""

    bound_as: ClassVar = "tenant"
    bound_fields: ClassVar = ("id", "uid", "organization_id")

    uid = models.UUIDField(default=uuid.uuid4, unique=True, editable=False)
    organization = models.ForeignKey(Organization, models.PROTECT, related_name="tenants")
    name = models.CharField(max_length=64, unique=True)
    key_deletes = models.CharField(max_length=8, choices=KeyDeletes, default=KeyDeletes.DENY)
    new_spaces = models.CharField(max_length=12, choices=Profile, default=Profile.SEARCHABLE)
    changes = models.CharField(max_length=8, choices=Changes, default=Changes.REPLACE)
    instructions = models.CharField(max_length=8, choices=Instructions, default=Instructions.STYLE)
    # Also a database default: the previous version inserts tenants without it.
    session_summaries = models.CharField(
        max_length=8, choices=SessionSummaries, default=SessionSummaries.OFF, db_default=SessionSummaries.OFF.value
    )
    ai_extract = models.CharField(
        max_length=16, choices=Egress, default=Egress.SELF_HOSTED_ONLY, db_default=Egress.SELF_HOSTED_ONLY.value
    )
    ai_rerank = models.CharField(
        max_length=16, choices=Egress, default=Egress.SELF_HOSTED_ONLY, db_default=Egress.SELF_HOSTED_ONLY.value
    )
    break_glass = models.CharField(
        max_length=8, choices=BreakGlass, default=BreakGlass.ASK, db_default=BreakGlass.ASK.value
    )
    require_second_factor = models.CharField(
        max_length=8, choices=SecondFactor, default=SecondFactor.NO, db_default=SecondFactor.NO.value
    )
    closed_at = models.DateTimeField(null=True, blank=True)
    suspended_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ("name",)
        constraints = (
            models.CheckConstraint(condition=models.Q(key_deletes__in=KeyDeletes.values), name="tenant_key_deletes"),
            models.CheckConstraint(condition=models.Q(new_spaces__in=Profile.values), name="tenant_new_spaces"),
            models.CheckConstraint(condition=models.Q(changes__in=Changes.values), name="tenant_changes"),
            models.CheckConstraint(condition=models.Q(ai_extract__in=Egress.values), name="tenant_ai_extract"),
            models.CheckConstraint(condition=models.Q(ai_rerank__in=Egress.values), name="tenant_ai_rerank"),
            models.CheckConstraint(condition=models.Q(break_glass__in=BreakGlass.values), name="tenant_break_glass"),
            models.CheckConstraint(
                condition=models.Q(require_second_factor__in=SecondFactor.values), name="tenant_second_factor"
            ),
            models.CheckConstraint(
                condition=models.Q(instructions__in=Instructions.values), name="tenant_instructions"
            ),
            models.CheckConstraint(
                condition=models.Q(session_summaries__in=SessionSummaries.values), name="tenant_session_summaries"
            ),
        )

    def __str__(self) -> str:
        return self.name

    @property
    def tenant_id(self) -> int:
        """Lets a service that has a tenant use it like a scope."""
        return self.pk


class Role(models.TextChoices):
    OWNER = "owner"
    ADMIN = "admin"
    DEVELOPER = "developer"
    ANALYST = "analyst"
    BILLING = "billing"


class Membership(BoundModel, BaseModel):
    """A user's role in an organization.  A suspended one grants nothing and can be restored unchanged."""

    bound_as: ClassVar = "membership"
    bound_fields: ClassVar = ("organization_id", "user_id", "role", "suspended_at")

    organization = models.ForeignKey(Organization, models.CASCADE, related_name="memberships")
    user = models.ForeignKey("accounts.User", models.CASCADE, related_name="memberships")
    role = models.CharField(max_length=16, choices=Role)
    suspended_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints = (
            models.UniqueConstraint(fields=("organization", "user"), name="membership_once"),
            models.CheckConstraint(condition=models.Q(role__in=Role.values), name="membership_role"),
        )

    def __str__(self) -> str:
        return f"{self.organization_id}:{self.role}"


class EndUser(BoundModel, ScopedModel):
    """An end user or an agent: the tenant's own id, stored as a keyed hash for lookup and encrypted for display.

    An agent's begins with a control character (``apps.memories.spaces``), and its spaces are of another kind.

    The wire calls the integer ``id`` ``user_id``.
    """

    bound_as: ClassVar = "end_user"
    bound_fields: ClassVar = ("id", "tenant_id", "external_mac")

    external_mac = models.BinaryField(max_length=16)
    external_ct = EncryptedField(EXTERNAL_ID)
    key_version = models.IntegerField()

    objects = ScopedManager["EndUser"]()

    class Meta(ScopedModel.Meta):
        constraints = (
            models.UniqueConstraint(fields=("tenant", "external_mac"), name="end_user_once"),
            models.UniqueConstraint(fields=("tenant", "id"), name="end_user_in_tenant"),
        )
        indexes = (models.Index(fields=("tenant", "key_version", "id"), name="end_user_key_version"),)

    def __str__(self) -> str:
        return f"usr_{self.pk}"
