"""When memories held, and since when that is known, behind the wall of their tenant.

What was replaced before has one stretch, known to have ended when it was replaced: one statement over those rows.
"""

import django.db.models.deletion
import django.db.models.manager
from django.db import migrations, models

from apps.core.scoping import composite_key_sql, isolation_sql

_FILL = """
insert into memories_memoryperiod (tenant_id, space_id, memory_id, valid_from, known_from, known_to, created_at)
select tenant_id, space_id, id, coalesce(valid_from, created_at), created_at, superseded_at, superseded_at
from memories_memory where superseded_at > created_at;
update memories_memory set known_from = superseded_at where superseded_at is not null;
"""


class Migration(migrations.Migration):
    dependencies = [
        ("memories", "0005_derive_summaries"),
        ("projects", "0002_wall_tenants"),
        ("tenants", "0002_wall_tenants"),
    ]

    operations = [
        migrations.AddField(
            model_name="memory",
            name="known_from",
            field=models.DateTimeField(
                help_text="Since when the two before have been so; empty: since it was made.", null=True
            ),
        ),
        migrations.CreateModel(
            name="MemoryPeriod",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                ("created_at", models.DateTimeField()),
                ("valid_from", models.DateTimeField()),
                ("valid_to", models.DateTimeField(null=True)),
                ("known_from", models.DateTimeField()),
                ("known_to", models.DateTimeField(null=True)),
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
                "indexes": [models.Index(fields=["tenant", "memory"], name="period_of_memory")],
            },
            managers=[
                ("everyone", django.db.models.manager.Manager()),
            ],
        ),
        migrations.RunSQL(*isolation_sql("memories_memoryperiod")),
        migrations.RunSQL(*composite_key_sql("memories_memoryperiod", "space_id", "projects_space")),
        migrations.RunSQL(*composite_key_sql("memories_memoryperiod", "memory_id", "memories_memory")),
        migrations.RunSQL(_FILL, migrations.RunSQL.noop),
    ]
