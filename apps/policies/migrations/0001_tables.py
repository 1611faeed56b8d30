"""Tables of the app."""

import django.db.models.deletion
import django.db.models.manager
from django.db import migrations, models


class Migration(migrations.Migration):
    initial = True

    dependencies = [("projects", "0001_tables"), ("tenants", "0001_tables")]

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
                (
                    "active_from",
                    models.SmallIntegerField(
                        choices=[(0, "When it was stored"), (1, "When it was last said or recalled")], null=True
                    ),
                ),
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
                    models.CheckConstraint(
                        condition=models.Q(("active_from__isnull", True), ("active_from__in", [0, 1]), _connector="OR"),
                        name="retention_policy_active_from",
                    ),
                ],
            },
            managers=[("everyone", django.db.models.manager.Manager())],
        )
    ]
