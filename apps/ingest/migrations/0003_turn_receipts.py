"""Receipts of turns that were distilled."""

import django.db.models.deletion
import django.db.models.manager
from django.db import migrations, models

from apps.core.scoping import composite_key_sql, isolation_sql


class Migration(migrations.Migration):
    dependencies = [
        ("ingest", "0002_wall_tenants"),
        ("projects", "0002_wall_tenants"),
        ("tenants", "0002_wall_tenants"),
    ]

    operations = [
        migrations.CreateModel(
            name="TurnReceipt",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                ("created_at", models.DateTimeField()),
                ("turn_mac", models.BinaryField(max_length=16)),
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
                "indexes": [models.Index(fields=["tenant", "space", "created_at"], name="turn_receipt_oldest")],
                "constraints": [
                    models.UniqueConstraint(fields=("tenant", "space", "turn_mac"), name="turn_receipt_once")
                ],
            },
            managers=[
                ("everyone", django.db.models.manager.Manager()),
            ],
        ),
        migrations.RunSQL(*isolation_sql("ingest_turnreceipt")),
        migrations.RunSQL(*composite_key_sql("ingest_turnreceipt", "space_id", "projects_space")),
    ]
