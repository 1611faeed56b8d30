"""How long memories are kept, walled like all that belongs to a tenant."""

import django.db.models.deletion
import django.db.models.manager
from django.db import migrations, models

from apps.core.scoping import composite_key_sql, isolation_sql


class Migration(migrations.Migration):
    dependencies = [
        ("projects", "0003_review_policy"),
        ("tenants", "0004_say_who_may_read"),
    ]

    operations = [
        migrations.CreateModel(
            name="RetentionPolicy",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                ("created_at", models.DateTimeField()),
                (
                    "level",
                    models.CharField(
                        choices=[
                            ("tenant", "Tenant"),
                            ("project", "Project"),
                            ("space", "Space"),
                            ("memory", "Memory"),
                        ],
                        max_length=8,
                    ),
                ),
                ("active_days", models.IntegerField(null=True)),
                ("archive_days", models.IntegerField(null=True)),
                ("grace_days", models.IntegerField(null=True)),
                ("task_ttl_seconds", models.BigIntegerField(null=True)),
                ("event_max_age_seconds", models.BigIntegerField(null=True)),
                ("superseded_max_age_seconds", models.BigIntegerField(null=True)),
                ("superseded_max_count", models.IntegerField(null=True)),
                ("revision", models.IntegerField(default=1)),
                ("updated_at", models.DateTimeField()),
                ("updated_by", models.CharField(max_length=64)),
                (
                    "project",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="projects.project",
                    ),
                ),
                (
                    "space",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="projects.space",
                    ),
                ),
                (
                    "tenant",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="tenants.tenant",
                    ),
                ),
            ],
            options={
                "abstract": False,
                "default_manager_name": "everyone",
                "constraints": [
                    models.UniqueConstraint(
                        condition=models.Q(("level", "tenant")), fields=("tenant",), name="retention_policy_of_tenant"
                    ),
                    models.UniqueConstraint(
                        condition=models.Q(("project__isnull", False)),
                        fields=("tenant", "project"),
                        name="retention_policy_of_project",
                    ),
                    models.UniqueConstraint(
                        condition=models.Q(("space__isnull", False)),
                        fields=("tenant", "space"),
                        name="retention_policy_of_space",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("level", "tenant"), ("project__isnull", True), ("space__isnull", True)),
                            models.Q(("level", "project"), ("project__isnull", False), ("space__isnull", True)),
                            models.Q(("level", "space"), ("project__isnull", True), ("space__isnull", False)),
                            _connector="OR",
                        ),
                        name="retention_policy_names_its_target",
                    ),
                ],
            },
            managers=[
                ("everyone", django.db.models.manager.Manager()),
            ],
        ),
        migrations.RunSQL(*isolation_sql("projects_retentionpolicy")),
        migrations.RunSQL(*composite_key_sql("projects_retentionpolicy", "project_id", "projects_project")),
        migrations.RunSQL(*composite_key_sql("projects_retentionpolicy", "space_id", "projects_space")),
    ]
