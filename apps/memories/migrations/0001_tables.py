"""Memories and their postings."""

import django.contrib.postgres.fields
import django.contrib.postgres.fields.ranges
import django.db.models.deletion
import django.db.models.functions.comparison
import django.db.models.manager
import pgvector.django
import pgvector.django.bit
from django.db import migrations, models


class Migration(migrations.Migration):
    initial = True

    dependencies = [("projects", "0001_tables"), ("tenants", "0001_tables")]

    operations = [
        pgvector.django.VectorExtension(),
        migrations.CreateModel(
            name="MemoryPosting",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "tenant_id",
                        "space_id",
                        "token",
                        "memory_id",
                        blank=True,
                        editable=False,
                        primary_key=True,
                        serialize=False,
                    ),
                ),
                ("tenant_id", models.BigIntegerField()),
                ("space_id", models.BigIntegerField()),
                ("token", models.BigIntegerField()),
                ("memory_id", models.BigIntegerField()),
                ("tf", models.SmallIntegerField()),
                ("length", models.SmallIntegerField()),
            ],
            options={"db_table": "memories_posting", "managed": False},
        ),
        migrations.CreateModel(
            name="Memory",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                ("created_at", models.DateTimeField()),
                ("environment", models.CharField(max_length=16)),
                ("public_id", models.CharField(max_length=36)),
                ("updated_at", models.DateTimeField()),
                ("created_txid", models.BigIntegerField()),
                ("changed_txid", models.BigIntegerField()),
                ("type", models.CharField(max_length=32)),
                ("slot", models.BinaryField(max_length=16, null=True)),
                ("value_mac", models.BinaryField(max_length=16, null=True)),
                ("text_mac", models.BinaryField(max_length=16)),
                (
                    "said_mac",
                    models.BinaryField(
                        help_text="Of the text as it was said, where parts ended.", max_length=16, null=True
                    ),
                ),
                ("key_version", models.IntegerField()),
                ("text_ct", models.BinaryField()),
                ("summary_ct", models.BinaryField(null=True)),
                ("content_ct", models.BinaryField(null=True)),
                ("keywords_ct", models.BinaryField(null=True)),
                ("metadata_ct", models.BinaryField(null=True)),
                (
                    "label_ct",
                    models.BinaryField(help_text="The canonical key, to show; the slot is for equality.", null=True),
                ),
                ("tags_ct", models.BinaryField(null=True)),
                (
                    "handles_ct",
                    models.BinaryField(help_text="What the keyed hashes below are computed from."),
                ),
                (
                    "said_ct",
                    models.BinaryField(
                        help_text="The text as it was said, where a part of it holds no longer.", null=True
                    ),
                ),
                (
                    "parts_ct",
                    models.BinaryField(
                        help_text="Which parts of it hold no longer, since when and by what.", null=True
                    ),
                ),
                (
                    "revision",
                    models.IntegerField(default=0, help_text="Of the fields that may change; bound into their seal."),
                ),
                ("source", models.CharField(blank=True, max_length=64)),
                ("source_kind", models.CharField(default="auto", max_length=16)),
                ("event_type", models.CharField(blank=True, max_length=64)),
                (
                    "tier",
                    models.CharField(
                        choices=[("hot", "Hot"), ("warm", "Warm"), ("cold", "Cold")], default="hot", max_length=8
                    ),
                ),
                ("is_summary", models.BooleanField(default=False)),
                ("pinned", models.BooleanField(default=False)),
                (
                    "tag_tokens",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.BigIntegerField(), default=list, size=None
                    ),
                ),
                ("actor_token", models.BigIntegerField(null=True)),
                ("session_token", models.BigIntegerField(null=True)),
                ("from_assistant", models.BooleanField(default=False)),
                (
                    "validity",
                    models.CharField(
                        choices=[("current", "Current"), ("superseded", "Superseded"), ("disputed", "Disputed")],
                        default="current",
                        max_length=12,
                    ),
                ),
                ("superseded_at", models.DateTimeField(null=True)),
                ("superseded_reason", models.CharField(blank=True, max_length=16)),
                (
                    "outdated_by_id",
                    models.BigIntegerField(
                        help_text="A later memory that may have made it untrue, which is not sure enough to replace it.",
                        null=True,
                    ),
                ),
                (
                    "retention_status",
                    models.CharField(
                        choices=[
                            ("active", "Active"),
                            ("archived", "Archived"),
                            ("soft_deleted", "Soft Deleted"),
                            ("hard_delete_pending", "Hard Delete Pending"),
                            ("purged", "Purged"),
                        ],
                        default="active",
                        max_length=24,
                    ),
                ),
                ("expires_at", models.DateTimeField(null=True)),
                ("archive_at", models.DateTimeField(null=True)),
                ("hard_delete_at", models.DateTimeField(null=True)),
                ("deleted_at", models.DateTimeField(null=True)),
                ("deletion_method", models.CharField(blank=True, max_length=24)),
                ("legal_hold", models.BooleanField(default=False)),
                ("source_strength", models.FloatField(default=0.95)),
                ("repetition_count", models.IntegerField(default=1)),
                ("extractor_confidence", models.FloatField(default=0.9)),
                ("type_prior", models.FloatField(default=0.15)),
                ("confidence", models.FloatField(default=0.65)),
                ("importance", models.FloatField(default=0.5)),
                ("platform_importance", models.SmallIntegerField(default=50)),
                ("access_count", models.BigIntegerField(default=0)),
                ("last_accessed_at", models.DateTimeField(null=True)),
                (
                    "last_used_at",
                    models.DateTimeField(
                        help_text="Its age counts from then; empty: from when it was made.", null=True
                    ),
                ),
                ("event_at", models.DateTimeField(null=True)),
                (
                    "event_precision",
                    models.CharField(
                        blank=True,
                        choices=[
                            ("exact", "Exact"),
                            ("day", "Day"),
                            ("week", "Week"),
                            ("month", "Month"),
                            ("approximate", "Approximate"),
                            ("unknown", "Unknown"),
                        ],
                        max_length=12,
                    ),
                ),
                ("event_range", django.contrib.postgres.fields.ranges.DateTimeRangeField(null=True)),
                ("valid_from", models.DateTimeField(null=True)),
                ("valid_to", models.DateTimeField(null=True)),
                (
                    "known_from",
                    models.DateTimeField(
                        help_text="Since when the two before have been so; empty: since it was made.", null=True
                    ),
                ),
                (
                    "project",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to="projects.project",
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
                    "superseded_by",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
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
            options={"abstract": False, "default_manager_name": "everyone"},
            managers=[("everyone", django.db.models.manager.Manager())],
        ),
    ]
