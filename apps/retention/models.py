"""Models: forget requests, privacy requests, retention runs, and notices of upcoming deletions."""

from django.contrib.postgres.fields import ArrayField
from django.db import models

from apps.core.fields import EncryptedField
from apps.core.scoping import ScopedManager, ScopedModel
from apps.retention.states import PrivacyKind, PrivacyState, RequestState

# Field names in the envelope context.
CHOICE, REASON, TARGET = "forget_request.choice", "forget_request.reason", "forget_request.target"


class ForgetRequest(ScopedModel):
    """A request by a program to forget or to erase memories of one space; a user decides.

    choice: the selected memories.  reason: why.  Both are encrypted and never changed.  project_id: project of the API
    request.  forgotten: number of memories deleted on confirmation.

    erases: once confirmed, its memories are erased with a receipt at ``erase_at``, when the time for restoring them is
    over.  target: what the program named, encrypted.  erase_ids: the memories, as of the confirmation.  blocked_by: the
    cases of the legal holds that blocked the last attempt.  decided_with, step_up_age_seconds: how the user confirmed
    their identity.  erasure_uid: of the erasure.  erased_at: when it was done.
    """

    space = models.ForeignKey("projects.Space", models.CASCADE, related_name="+", db_constraint=False, db_index=False)
    project_id = models.BigIntegerField(null=True)
    state = models.CharField(max_length=12, default=RequestState.PENDING.value)
    choice_ct = EncryptedField(CHOICE, is_json=True)
    reason_ct = EncryptedField(REASON, null=True)
    key_version = models.IntegerField()
    requested_by = models.CharField(max_length=64)
    expires_at = models.DateTimeField()
    decided_at = models.DateTimeField(null=True)
    decided_by = models.CharField(max_length=64, blank=True)
    forgotten = models.IntegerField(null=True)
    erases = models.BooleanField(default=False, db_default=False)
    target_ct = EncryptedField(TARGET, null=True, is_json=True)
    decided_with = models.CharField(max_length=32, blank=True, default="", db_default="")
    step_up_age_seconds = models.IntegerField(null=True)
    erase_at = models.DateTimeField(null=True)
    erase_ids = ArrayField(models.BigIntegerField(), default=list, db_default=[])
    blocked_by = ArrayField(models.CharField(max_length=64), default=list, db_default=[])
    erasure_uid = models.UUIDField(null=True)
    erased_at = models.DateTimeField(null=True)

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
            models.Index(
                fields=("tenant", "space"),
                condition=models.Q(erases=True, state="confirmed", erased_at=None),
                name="forget_requests_to_erase",
            ),
        )

    def __str__(self) -> str:
        return f"forget request {self.pk}: {self.state}"


class PrivacyRequest(ScopedModel):
    """An end user's request to access, export or delete all their data; a member of the tenant carries it out.

    The row remains after the end user is erased and holds only their id.  evidence: receipt ids.  records: number of
    memories handed over or erased.  error: code of the last failure.
    """

    end_user_id = models.BigIntegerField()
    kind = models.CharField(max_length=8)
    state = models.CharField(max_length=12, default=PrivacyState.PENDING.value)
    requested_by = models.CharField(max_length=64)
    due_at = models.DateTimeField()
    started_at = models.DateTimeField(null=True)
    completed_at = models.DateTimeField(null=True)
    handled_by = models.CharField(max_length=64, blank=True)
    attempts = models.IntegerField(default=0)
    error = models.CharField(max_length=64, blank=True)
    records = models.BigIntegerField(null=True)
    evidence = ArrayField(models.CharField(max_length=40), default=list)

    objects = ScopedManager["PrivacyRequest"]()

    class Meta(ScopedModel.Meta):
        constraints = (
            models.CheckConstraint(
                condition=models.Q(kind__in=[kind.value for kind in PrivacyKind]), name="privacy_request_kind"
            ),
            models.CheckConstraint(
                condition=models.Q(state__in=[state.value for state in PrivacyState]), name="privacy_request_state"
            ),
            models.UniqueConstraint(
                fields=("tenant", "end_user_id", "kind"),
                condition=~models.Q(state=PrivacyState.COMPLETED.value),
                name="privacy_request_once",
            ),
        )
        indexes = (models.Index(fields=("tenant", "-id"), name="privacy_requests_newest"),)

    def __str__(self) -> str:
        return f"privacy request {self.pk}: {self.kind}, {self.state}"


class RetentionNotice(ScopedModel):
    """An announced period of deletions in one environment and project (``apps.retention.notices``).

    The row is deleted when no memory is due within the next week.  first_on: first day (UTC) of the period, as
    announced.  count: number of memories due within a week, at the last check.
    """

    environment = models.CharField(max_length=16)
    project_id = models.BigIntegerField(null=True)
    first_on = models.DateField()
    count = models.BigIntegerField()
    told_at = models.DateTimeField()

    objects = ScopedManager["RetentionNotice"]()

    class Meta(ScopedModel.Meta):
        constraints = (
            models.UniqueConstraint(
                fields=("tenant", "environment", "project_id"), nulls_distinct=False, name="retention_notice_once"
            ),
        )

    def __str__(self) -> str:
        return f"notice of {self.first_on} in {self.environment}"


class RetentionRun(ScopedModel):
    """One retention run over one tenant; counts only.  A tenant has at most one unfinished run.

    token: identifies the worker that holds the lease until leased_until; then another worker may continue the run.
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
