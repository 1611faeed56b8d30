"""Which memory was made of which turn or item of state."""

import django.db.models.deletion
import django.db.models.manager
from django.db import migrations, models

from apps.core.scoping import composite_key_sql, isolation_sql


class Migration(migrations.Migration):
    dependencies = [
        ("ingest", "0003_turn_receipts"),
        ("memories", "0003_seal_revisions"),
        ("projects", "0002_wall_tenants"),
        ("tenants", "0002_wall_tenants"),
    ]

    operations = [
        migrations.CreateModel(
            name="DerivedFact",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                ("created_at", models.DateTimeField()),
                ("source_id", models.BigIntegerField()),
                ("is_origin", models.BooleanField()),
                (
                    "memory",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="memories.memory",
                    ),
                ),
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
                "indexes": [models.Index(fields=["tenant", "memory"], name="derived_fact_of_memory")],
                "constraints": [
                    models.UniqueConstraint(fields=("tenant", "source_id", "memory"), name="derived_fact_once")
                ],
            },
            managers=[
                ("everyone", django.db.models.manager.Manager()),
            ],
        ),
        migrations.RunSQL(*isolation_sql("ingest_derivedfact")),
        migrations.RunSQL(*composite_key_sql("ingest_derivedfact", "space_id", "projects_space")),
        migrations.RunSQL(*composite_key_sql("ingest_derivedfact", "memory_id", "memories_memory")),
    ]
