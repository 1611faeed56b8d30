"""Tables of the app."""

import django.contrib.postgres.fields
import django.db.models.deletion
import django.db.models.manager
from django.db import migrations, models


class Migration(migrations.Migration):
    initial = True

    dependencies = [("memories", "0001_tables"), ("projects", "0001_tables"), ("tenants", "0001_tables")]

    operations = [
        migrations.CreateModel(
            name="Candidate",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                ("created_at", models.DateTimeField()),
                (
                    "decision",
                    models.CharField(
                        choices=[
                            ("created", "Created"),
                            ("merged", "Merged"),
                            ("revived", "Revived"),
                            ("duplicate", "Duplicate"),
                            ("superseding", "Superseding"),
                            ("pending", "Pending"),
                            ("discarded_low_signal", "Low Signal"),
                            ("discarded_redundant", "Redundant"),
                            ("discarded_transient", "Transient"),
                            ("discarded_policy", "Policy"),
                        ],
                        max_length=24,
                    ),
                ),
                ("reason", models.CharField(blank=True, max_length=48)),
                ("type", models.CharField(blank=True, max_length=32)),
                ("memory_id", models.BigIntegerField(null=True)),
                ("digest", models.BinaryField(max_length=16)),
                ("extractor", models.CharField(db_default="rules", default="rules", max_length=8)),
                ("fallback", models.CharField(blank=True, db_default="", default="", max_length=16)),
                ("tokens_in", models.IntegerField(null=True)),
                ("tokens_out", models.IntegerField(null=True)),
                ("cost_micros", models.BigIntegerField(null=True)),
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
                    models.Index(fields=["tenant", "space", "-id"], name="candidate_newest"),
                    models.Index(
                        condition=models.Q(("memory_id__isnull", False)),
                        fields=["tenant", "memory_id"],
                        name="candidate_of_memory",
                    ),
                    models.Index(
                        fields=["tenant", "created_at"],
                        include=("space", "decision", "reason"),
                        name="candidate_of_a_time",
                    ),
                ],
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(
                            (
                                "decision__in",
                                [
                                    "created",
                                    "merged",
                                    "revived",
                                    "duplicate",
                                    "superseding",
                                    "pending",
                                    "discarded_low_signal",
                                    "discarded_redundant",
                                    "discarded_transient",
                                    "discarded_policy",
                                ],
                            )
                        ),
                        name="candidate_decision",
                    )
                ],
            },
            managers=[("everyone", django.db.models.manager.Manager())],
        ),
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
            managers=[("everyone", django.db.models.manager.Manager())],
        ),
        migrations.CreateModel(
            name="IngestReceipt",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                ("created_at", models.DateTimeField()),
                ("client_ref_mac", models.BinaryField(max_length=16)),
                ("client_ref_ct", models.BinaryField()),
                ("key_version", models.IntegerField()),
                (
                    "memory_ids",
                    django.contrib.postgres.fields.ArrayField(base_field=models.BigIntegerField(), size=None),
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
                "indexes": [models.Index(fields=["tenant", "key_version", "id"], name="receipt_key_version")],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("tenant", "space", "client_ref_mac"), name="receipt_once_per_client_ref"
                    )
                ],
            },
            managers=[("everyone", django.db.models.manager.Manager())],
        ),
        migrations.CreateModel(
            name="ModelUse",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                ("created_at", models.DateTimeField()),
                ("day", models.DateField()),
                ("calls", models.IntegerField()),
                ("tokens", models.BigIntegerField()),
                ("cost_micros", models.BigIntegerField()),
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
                "constraints": [models.UniqueConstraint(fields=("tenant", "day"), name="model_use_once_a_day")],
            },
            managers=[("everyone", django.db.models.manager.Manager())],
        ),
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
                ("undo_until", models.DateTimeField(null=True)),
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
                    models.Index(
                        condition=models.Q(("undo_until__isnull", False)),
                        fields=["tenant", "undo_until"],
                        name="review_item_undoable",
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
                            models.Q(("content_ct__isnull", False), ("state", "pending"), ("undo_until__isnull", True)),
                            models.Q(
                                models.Q(("state", "pending"), _negated=True),
                                ("content_ct__isnull", True),
                                ("undo_until__isnull", True),
                            ),
                            models.Q(
                                ("content_ct__isnull", False),
                                ("state__in", ("accepted", "rejected")),
                                ("undo_until__isnull", False),
                            ),
                            _connector="OR",
                        ),
                        name="review_item_says_it_while_open",
                    ),
                    models.UniqueConstraint(
                        condition=models.Q(("state", "pending")),
                        fields=("tenant", "space", "digest"),
                        name="review_item_once",
                    ),
                ],
            },
            managers=[("everyone", django.db.models.manager.Manager())],
        ),
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
            managers=[("everyone", django.db.models.manager.Manager())],
        ),
    ]
