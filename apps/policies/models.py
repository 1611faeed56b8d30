"""Retention policies of tenants, projects, namespaces and spaces."""

from typing import Final

from django.db import models

from apps.core.scoping import ScopedManager, ScopedModel

RULES = (
    "active_days", "active_from", "archive_days", "grace_days", "task_ttl_seconds", "event_max_age_seconds",
    "superseded_max_age_seconds", "superseded_max_count",
)  # fmt: skip
KEEP: Final = 2**31 - 1  # "no limit": larger than any other value, so that the smallest value is still the strictest


class Level(models.TextChoices):
    """What a rule or a legal hold applies to.  A namespace has rules only, a memory holds only."""

    TENANT = "tenant"
    PROJECT = "project"
    NAMESPACE = "namespace"
    SPACE = "space"
    MEMORY = "memory"


class AgeFrom(models.IntegerChoices):
    """Start of a memory's age.  The smallest value is the strictest."""

    STORED = 0, "When it was stored"
    USED = 1, "When it was last said or recalled"


class RetentionPolicy(ScopedModel):
    """How long memories of a tenant, a project, a namespace or a space are kept.

    A rule that is None is not set; of the levels that set a rule, the strictest value applies
    (``apps.policies.retention``).

    active_days: days until memories are archived or deleted; KEEP: never.  active_from: start of these days.
    archive_days: days from archiving until deletion; 0: no archive.  grace_days: days from deletion until permanent
    removal.
    """

    level = models.CharField(max_length=9, choices=Level)
    project = models.ForeignKey(
        "projects.Project", models.CASCADE, null=True, related_name="+", db_constraint=False, db_index=False
    )
    space = models.ForeignKey(
        "projects.Space", models.CASCADE, null=True, related_name="+", db_constraint=False, db_index=False
    )
    namespace_id = models.BigIntegerField(null=True)
    active_days = models.IntegerField(null=True)
    active_from = models.SmallIntegerField(null=True, choices=AgeFrom)
    archive_days = models.IntegerField(null=True)
    grace_days = models.IntegerField(null=True)
    task_ttl_seconds = models.BigIntegerField(null=True)
    event_max_age_seconds = models.BigIntegerField(null=True)
    superseded_max_age_seconds = models.BigIntegerField(null=True)
    superseded_max_count = models.IntegerField(null=True)
    revision = models.IntegerField(default=1)
    updated_at = models.DateTimeField()
    updated_by = models.CharField(max_length=64)

    objects = ScopedManager["RetentionPolicy"]()

    class Meta(ScopedModel.Meta):
        constraints = (
            models.UniqueConstraint(
                fields=("tenant",), condition=models.Q(level=Level.TENANT), name="retention_policy_of_tenant"
            ),
            models.UniqueConstraint(
                fields=("tenant", "project"),
                condition=models.Q(project__isnull=False),
                name="retention_policy_of_project",
            ),
            models.UniqueConstraint(
                fields=("tenant", "space"), condition=models.Q(space__isnull=False), name="retention_policy_of_space"
            ),
            models.UniqueConstraint(
                fields=("tenant", "namespace_id"),
                condition=models.Q(namespace_id__isnull=False),
                name="retention_policy_of_namespace",
            ),
            models.CheckConstraint(
                condition=models.Q(
                    level=Level.TENANT, project__isnull=True, namespace_id__isnull=True, space__isnull=True
                )
                | models.Q(level=Level.PROJECT, project__isnull=False, namespace_id__isnull=True, space__isnull=True)
                | models.Q(level=Level.NAMESPACE, project__isnull=True, namespace_id__isnull=False, space__isnull=True)
                | models.Q(level=Level.SPACE, project__isnull=True, namespace_id__isnull=True, space__isnull=False),
                name="retention_policy_names_its_target",
            ),
            models.CheckConstraint(
                condition=models.Q(active_from__isnull=True) | models.Q(active_from__in=AgeFrom.values),
                name="retention_policy_active_from",
            ),
        )

    def __str__(self) -> str:
        return f"retention of {self.level} {self.project_id or self.namespace_id or self.space_id or self.tenant_id}"
