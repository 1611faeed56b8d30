"""The erasure ledger: what was erased, and may come back with no backup of the data.  Requests to forget.  Legal holds,
and runs of the retention."""

from django.db import models

from apps.core.scoping import ScopedManager, ScopedModel
from apps.crypto.models import InKeyring
from apps.projects.models import Level
from apps.retention.states import RequestState

CHOICE, REASON = "forget_request.choice", "forget_request.reason"  # the names bound into the seals


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


class ForgetRequest(ScopedModel):
    """A program asked that memories of one space be forgotten; a person decides.

    choice: which memories, and reason: why, both sealed and never changed.  project_id: of the request that asked.
    forgotten: how many memories went, once it is confirmed.
    """

    space = models.ForeignKey("projects.Space", models.CASCADE, related_name="+", db_constraint=False, db_index=False)
    project_id = models.BigIntegerField(null=True)
    state = models.CharField(max_length=12, default=RequestState.PENDING.value)
    choice_ct = models.BinaryField()
    reason_ct = models.BinaryField(null=True)
    key_version = models.IntegerField()
    requested_by = models.CharField(max_length=64)
    expires_at = models.DateTimeField()
    decided_at = models.DateTimeField(null=True)
    decided_by = models.CharField(max_length=64, blank=True)
    forgotten = models.IntegerField(null=True)

    objects = ScopedManager["ForgetRequest"]()

    class Meta(ScopedModel.Meta):
        constraints = (
            models.CheckConstraint(
                condition=models.Q(state__in=[state.value for state in RequestState]), name="forget_request_state"
            ),
        )
        indexes = (
            models.Index(fields=("tenant", "space", "-id"), name="forget_requests_of_space"),
            models.Index(
                fields=("tenant", "expires_at"), condition=models.Q(state="pending"), name="forget_requests_pending"
            ),
            models.Index(fields=("tenant", "key_version", "id"), name="forget_request_key_version"),
        )

    def __str__(self) -> str:
        return f"forget request {self.pk}: {self.state}"


class Hold(ScopedModel):
    """A legal hold: what it is for is not deleted until it is lifted.  case: the reference of whoever asked for it.

    project_id, space_id, memory_id: the one that the level names; none of them for the whole tenant.
    """

    level = models.CharField(max_length=8, choices=Level)
    project_id = models.BigIntegerField(null=True)
    space_id = models.BigIntegerField(null=True)
    memory_id = models.BigIntegerField(null=True)
    case = models.CharField(max_length=64)
    set_by = models.CharField(max_length=64)
    lifted_at = models.DateTimeField(null=True)
    lifted_by = models.CharField(max_length=64, blank=True)

    objects = ScopedManager["Hold"]()

    class Meta(ScopedModel.Meta):
        constraints = (models.CheckConstraint(condition=models.Q(level__in=Level.values), name="hold_level"),)
        indexes = (
            models.Index(fields=("tenant", "id"), condition=models.Q(lifted_at__isnull=True), name="holds_in_force"),
        )

    def __str__(self) -> str:
        return f"hold {self.pk}: {self.case}"


class RetentionRun(ScopedModel):
    """One run of the retention over one tenant; counts only.  At most one of a tenant is not finished.

    token: of whoever works at it, until leased_until; then somebody else may go on with it.
    """

    token = models.UUIDField()
    leased_until = models.DateTimeField()
    finished_at = models.DateTimeField(null=True)
    times_resumed = models.IntegerField(default=0)
    archived = models.BigIntegerField(default=0)
    deleted = models.BigIntegerField(default=0)
    purged = models.BigIntegerField(default=0)

    objects = ScopedManager["RetentionRun"]()

    class Meta(ScopedModel.Meta):
        constraints = (
            models.UniqueConstraint(
                fields=("tenant",), condition=models.Q(finished_at__isnull=True), name="retention_one_run"
            ),
        )
        indexes = (models.Index(fields=("tenant", "-id"), name="retention_runs"),)

    def __str__(self) -> str:
        return f"retention run {self.pk}"
