"""Names for moments of a space."""

from typing import ClassVar

import django.db.models.deletion
import django.db.models.manager
from django.db import migrations, models

from apps.core.migration_operations import EnableTenantIsolation


class Migration(migrations.Migration):
    dependencies: ClassVar = [
        ("memories", "0007_type_fields"),
        ("projects", "0002_isolation"),
        ("tenants", "0002_isolation"),
    ]

    operations: ClassVar = [
        migrations.CreateModel(
            name="MemoryCheckpoint",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                ("created_at", models.DateTimeField()),
                ("name", models.CharField(max_length=64)),
                ("txid", models.BigIntegerField()),
                ("created_by", models.CharField(max_length=64)),
                (
                    "space",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
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
                    models.UniqueConstraint(fields=("tenant", "space", "name"), name="checkpoint_name_once")
                ],
            },
            managers=[("everyone", django.db.models.manager.Manager())],
        ),
        EnableTenantIsolation("MemoryCheckpoint", parents={"space_id": "projects_space"}),
    ]
