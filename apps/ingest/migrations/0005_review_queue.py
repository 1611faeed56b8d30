"""What waits for a person, walled like all that belongs to a tenant."""

import django.db.models.deletion
import django.db.models.manager
from django.db import migrations, models

from apps.core.scoping import composite_key_sql, isolation_sql
from apps.crypto.encrypted_tables import guard_sql


class Migration(migrations.Migration):
    dependencies = [
        ("crypto", "0004_guard_key_versions"),
        ("ingest", "0004_derived_facts"),
        ("projects", "0002_wall_tenants"),
        ("tenants", "0002_wall_tenants"),
    ]

    operations = [
        migrations.CreateModel(
            name="ReviewItem",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                ("created_at", models.DateTimeField()),
                ("project_id", models.BigIntegerField(null=True)),
                (
                    "state",
                    models.CharField(
                        choices=[
                            ("pending", "Pending"),
                            ("accepted", "Accepted"),
                            ("rejected", "Rejected"),
                            ("expired", "Expired"),
                        ],
                        default="pending",
                        max_length=12,
                    ),
                ),
                ("reason", models.CharField(max_length=16)),
                ("type", models.CharField(max_length=32)),
                ("confidence", models.FloatField()),
                ("extractor", models.CharField(max_length=8)),
                ("source_id", models.BigIntegerField(null=True)),
                ("digest", models.BinaryField(max_length=16)),
                ("content_ct", models.BinaryField(null=True)),
                ("key_version", models.IntegerField()),
                ("expires_at", models.DateTimeField()),
                ("decided_at", models.DateTimeField(null=True)),
                ("decided_by", models.CharField(blank=True, max_length=64)),
                ("outcome", models.CharField(blank=True, max_length=24)),
                ("memory_id", models.BigIntegerField(null=True)),
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
                    models.Index(fields=["tenant", "-id"], name="review_item_newest"),
                    models.Index(fields=["tenant", "space", "digest"], name="review_item_digest"),
                    models.Index(
                        condition=models.Q(("state", "pending")),
                        fields=["tenant", "expires_at"],
                        name="review_item_due",
                    ),
                    models.Index(fields=["tenant", "key_version", "id"], name="review_item_key_version"),
                ],
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(("state__in", ["pending", "accepted", "rejected", "expired"])),
                        name="review_item_state",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("content_ct__isnull", False), ("state", "pending")),
                            models.Q(models.Q(("state", "pending"), _negated=True), ("content_ct__isnull", True)),
                            _connector="OR",
                        ),
                        name="review_item_says_it_while_pending",
                    ),
                    models.UniqueConstraint(
                        condition=models.Q(("state", "pending")),
                        fields=("tenant", "space", "digest"),
                        name="review_item_once",
                    ),
                ],
            },
            managers=[
                ("everyone", django.db.models.manager.Manager()),
            ],
        ),
        migrations.RunSQL(*guard_sql("ingest_reviewitem")),
        migrations.RunSQL(*isolation_sql("ingest_reviewitem")),
        migrations.RunSQL(*composite_key_sql("ingest_reviewitem", "space_id", "projects_space")),
    ]
