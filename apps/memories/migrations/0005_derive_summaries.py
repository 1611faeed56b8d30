"""What each summary was made from, behind the wall of its tenant."""

import django.db.models.deletion
import django.db.models.manager
from django.db import migrations, models

from apps.core.scoping import composite_key_sql, isolation_sql


class Migration(migrations.Migration):
    dependencies = [
        ("memories", "0004_keep_feedback"),
        ("projects", "0002_wall_tenants"),
        ("tenants", "0002_wall_tenants"),
    ]

    operations = [
        migrations.CreateModel(
            name="SummarySource",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                ("created_at", models.DateTimeField()),
                ("source_id", models.BigIntegerField()),
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
                    "summary",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="memories.memory",
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
                "indexes": [models.Index(fields=["tenant", "source_id"], name="summaries_of_source")],
                "constraints": [
                    models.UniqueConstraint(fields=("tenant", "summary", "source_id"), name="summary_source_once")
                ],
            },
            managers=[
                ("everyone", django.db.models.manager.Manager()),
            ],
        ),
        migrations.RunSQL(*isolation_sql("memories_summarysource")),
        migrations.RunSQL(*composite_key_sql("memories_summarysource", "space_id", "projects_space")),
        migrations.RunSQL(*composite_key_sql("memories_summarysource", "summary_id", "memories_memory")),
    ]
