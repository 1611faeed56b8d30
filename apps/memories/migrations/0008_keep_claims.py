"""What memories claim, sealed, and keyed to be asked for, behind the wall of the tenant."""

import django.db.models.deletion
import django.db.models.manager
from django.db import migrations, models

from apps.core.scoping import composite_key_sql, isolation_sql
from apps.crypto.encrypted_tables import guard_sql


class Migration(migrations.Migration):
    dependencies = [
        ("memories", "0007_add_own_types"),
        ("projects", "0002_wall_tenants"),
        ("tenants", "0002_wall_tenants"),
    ]

    operations = [
        migrations.CreateModel(
            name="MemoryClaim",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                ("created_at", models.DateTimeField()),
                ("subject_mac", models.BinaryField(max_length=16, null=True)),
                ("predicate_mac", models.BinaryField(max_length=16, null=True)),
                ("claim_ct", models.BinaryField()),
                ("key_version", models.IntegerField()),
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
                "indexes": [
                    models.Index(fields=["tenant", "space", "subject_mac", "predicate_mac"], name="claim_about"),
                    models.Index(fields=["tenant", "key_version", "id"], name="claim_key_version"),
                ],
                "constraints": [
                    models.UniqueConstraint(fields=("tenant", "memory"), name="claim_once_per_memory"),
                ],
            },
            managers=[
                ("everyone", django.db.models.manager.Manager()),
            ],
        ),
        migrations.RunSQL(*isolation_sql("memories_memoryclaim")),
        migrations.RunSQL(*guard_sql("memories_memoryclaim")),
        migrations.RunSQL(*composite_key_sql("memories_memoryclaim", "space_id", "projects_space")),
        migrations.RunSQL(*composite_key_sql("memories_memoryclaim", "memory_id", "memories_memory")),
    ]
