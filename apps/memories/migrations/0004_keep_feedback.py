"""Signals about memories, their comments sealed; walled like the memories."""

import django.db.models.deletion
import django.db.models.manager
from django.db import migrations, models

from apps.core.scoping import composite_key_sql, isolation_sql
from apps.crypto.encrypted_tables import guard_sql


class Migration(migrations.Migration):
    dependencies = [
        ("memories", "0003_seal_revisions"),
        ("tenants", "0002_wall_tenants"),
    ]

    operations = [
        migrations.CreateModel(
            name="MemoryFeedback",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                ("created_at", models.DateTimeField()),
                ("space_id", models.BigIntegerField()),
                ("signal", models.CharField(max_length=12)),
                ("comment_ct", models.BinaryField(null=True)),
                ("key_version", models.IntegerField(null=True)),
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
                    models.Index(fields=["tenant", "memory", "-id"], name="feedback_of_memory"),
                    models.Index(
                        condition=models.Q(("key_version__isnull", False)),
                        fields=["tenant", "key_version", "id"],
                        name="feedback_key_version",
                    ),
                ],
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(("signal__in", ["positive", "negative", "retrieved", "ignored"])),
                        name="feedback_signal",
                    )
                ],
            },
            managers=[
                ("everyone", django.db.models.manager.Manager()),
            ],
        ),
        migrations.RunSQL(*guard_sql("memories_memoryfeedback")),
        migrations.RunSQL(*isolation_sql("memories_memoryfeedback")),
        migrations.RunSQL(*composite_key_sql("memories_memoryfeedback", "memory_id", "memories_memory")),
    ]
