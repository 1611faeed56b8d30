"""The abstract model of imports and exports: one caller's job, run in slices by a worker."""

from typing import Any

from django.db import models

from apps.core.scoping import ScopedModel

OPEN = ("pending", "running")  # states with work left


class TransferJob(ScopedModel):
    """A job: its scope, its caller and its progress.

    status: one of the kind's own states; those in OPEN have work left.  space: of the end user named for the whole job,
    so that the job is deleted with it.  attempts: how often the next part failed for an internal reason.
    """

    status: Any

    public_id = models.CharField(max_length=32)
    environment = models.CharField(max_length=16)
    project_id = models.BigIntegerField(null=True)
    space = models.ForeignKey(
        "projects.Space", models.CASCADE, null=True, related_name="+", db_constraint=False, db_index=False
    )
    actor = models.CharField(max_length=64)
    key_version = models.IntegerField()
    attempts = models.IntegerField(default=0)
    started_at = models.DateTimeField(null=True)
    completed_at = models.DateTimeField(null=True)

    class Meta(ScopedModel.Meta):
        abstract = True

    def __str__(self) -> str:
        return self.public_id

    @property
    def is_open(self) -> bool:
        return self.status in OPEN


def job_constraints(name: str) -> tuple[models.UniqueConstraint, ...]:
    """Constraints of a job table.  name: of the kind; prefix of the constraints' names."""
    return (
        models.UniqueConstraint(fields=("tenant", "public_id"), name=f"{name}_public_id"),
        models.UniqueConstraint(fields=("tenant", "id"), name=f"{name}_in_tenant"),
    )


def job_indexes(name: str) -> tuple[models.Index, ...]:
    """Indexes of a job table.  name: as in ``job_constraints``."""
    return (
        models.Index(fields=("tenant", "environment", "-id"), name=f"{name}_newest"),
        models.Index(fields=("tenant", "id"), condition=models.Q(status__in=OPEN), name=f"{name}_open"),
        models.Index(fields=("tenant", "key_version", "id"), name=f"{name}_key_version"),
    )
