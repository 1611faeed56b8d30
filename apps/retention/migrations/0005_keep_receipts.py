"""Erasures and the log of their receipts, in the keyring database."""

import uuid

from django.db import migrations, models

import apps.crypto.models


class Migration(migrations.Migration):
    dependencies = [
        ("retention", "0004_hold_and_run"),
    ]

    operations = [
        migrations.CreateModel(
            name="Erasure",
            fields=[
                ("uid", models.UUIDField(default=uuid.uuid4, primary_key=True, serialize=False)),
                ("tenant_uid", models.UUIDField()),
                ("environment", models.CharField(blank=True, max_length=16)),
                (
                    "kind",
                    models.CharField(
                        choices=[
                            ("memories", "Single memories"),
                            ("topic", "What was ever true of one thing"),
                            ("space", "A person in one environment"),
                            ("end_user", "A person in every environment"),
                            ("project", "All memories of a project"),
                            ("tenant", "A tenant"),
                        ],
                        max_length=12,
                    ),
                ),
                ("target", models.JSONField()),
                ("nonce", models.BinaryField(max_length=32)),
                ("with_sources", models.BooleanField(default=False)),
                (
                    "state",
                    models.CharField(
                        choices=[
                            ("requested", "Being deleted"),
                            ("deleted", "In no answer and no table; its bytes may still be in files of the database"),
                            ("purged", "Gone from the files of the database; still in backups"),
                            ("finished", "The last backup that had it is past its time"),
                        ],
                        default="requested",
                        max_length=16,
                    ),
                ),
                ("counts", models.JSONField(default=dict)),
                ("actor", models.CharField(max_length=64)),
                ("method", models.CharField(max_length=32)),
                ("step_up_age_seconds", models.IntegerField(null=True)),
                ("request_id", models.CharField(blank=True, max_length=64)),
                ("requested_at", models.DateTimeField()),
                ("deleted_at", models.DateTimeField(null=True)),
                ("purged_at", models.DateTimeField(null=True)),
                ("finished_at", models.DateTimeField(null=True)),
            ],
            bases=(apps.crypto.models.InKeyring, models.Model),
            options={
                "indexes": [
                    models.Index(fields=["tenant_uid", "-requested_at"], name="erasures_newest"),
                    models.Index(
                        condition=models.Q(("state", "finished"), _negated=True),
                        fields=["requested_at"],
                        name="erasures_open",
                    ),
                ],
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(("state__in", ["requested", "deleted", "purged", "finished"])),
                        name="erasure_state",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            ("kind__in", ["memories", "topic", "space", "end_user", "project", "tenant"])
                        ),
                        name="erasure_of",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="Receipt",
            fields=[
                ("index", models.BigIntegerField(primary_key=True, serialize=False)),
                ("receipt_uid", models.UUIDField(unique=True)),
                ("tenant_uid", models.UUIDField()),
                ("erasure_uid", models.UUIDField()),
                (
                    "phase",
                    models.CharField(
                        choices=[("deleted", "Deleted"), ("purged", "Purged"), ("backups_expired", "Backups Expired")],
                        max_length=16,
                    ),
                ),
                ("issued_at", models.DateTimeField()),
                ("body", models.TextField()),
                ("leaf", models.CharField(max_length=64)),
            ],
            bases=(apps.crypto.models.InKeyring, models.Model),
            options={
                "indexes": [
                    models.Index(fields=["tenant_uid", "-index"], name="receipts_newest"),
                ],
                "constraints": [
                    models.UniqueConstraint(fields=("erasure_uid", "phase"), name="receipt_once_per_phase"),
                    models.CheckConstraint(
                        condition=models.Q(("phase__in", ["deleted", "purged", "backups_expired"])),
                        name="receipt_phase",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="ReceiptCheckpoint",
            fields=[
                ("size", models.BigIntegerField(primary_key=True, serialize=False)),
                ("note", models.TextField()),
                ("made_at", models.DateTimeField()),
            ],
            bases=(apps.crypto.models.InKeyring, models.Model),
        ),
        migrations.AddField(
            model_name="erasureentry",
            name="erasure_uid",
            field=models.UUIDField(null=True),
        ),
        migrations.AddIndex(
            model_name="erasureentry",
            index=models.Index(
                condition=models.Q(("erasure_uid__isnull", False)), fields=["erasure_uid"], name="entries_of_erasure"
            ),
        ),
    ]
