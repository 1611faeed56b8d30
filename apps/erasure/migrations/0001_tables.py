"""Tables of the app."""

import uuid

import django.db.models.deletion
import django.db.models.manager
from django.db import migrations, models

import apps.crypto.models


class Migration(migrations.Migration):
    initial = True

    dependencies = [("tenants", "0001_tables")]

    operations = [
        migrations.CreateModel(
            name="Purge",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                ("started_at", models.DateTimeField()),
                ("horizons", models.JSONField()),
                ("tables", models.JSONField(default=dict)),
                ("finished_at", models.DateTimeField(null=True)),
            ],
            bases=(apps.crypto.models.InKeyring, models.Model),
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
            bases=(apps.crypto.models.InKeyring, models.Model),
        ),
        migrations.CreateModel(
            name="ErasureEntry",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                ("tenant_uid", models.UUIDField()),
                (
                    "kind",
                    models.CharField(
                        choices=[("space", "Space"), ("tenant", "Tenant"), ("memory", "Memory")], max_length=8
                    ),
                ),
                ("target_uid", models.UUIDField(null=True)),
                ("target_id", models.BigIntegerField(null=True)),
                ("erased_at", models.DateTimeField()),
                ("actor", models.CharField(max_length=64)),
                ("request_id", models.CharField(blank=True, max_length=64)),
                ("erasure_uid", models.UUIDField(null=True)),
            ],
            options={
                "indexes": [
                    models.Index(fields=["tenant_uid", "id"], name="erasures_of_tenant"),
                    models.Index(
                        condition=models.Q(("erasure_uid__isnull", False)),
                        fields=["erasure_uid"],
                        name="entries_of_erasure",
                    ),
                ],
                "constraints": [
                    models.UniqueConstraint(fields=("kind", "target_uid"), name="erased_once"),
                    models.CheckConstraint(
                        condition=models.Q(("kind__in", ["space", "tenant", "memory"])), name="erasure_kind"
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("kind", "memory"), ("target_id__isnull", False), ("target_uid__isnull", True)),
                            models.Q(
                                models.Q(("kind", "memory"), _negated=True),
                                ("target_id__isnull", True),
                                ("target_uid__isnull", False),
                            ),
                            _connector="OR",
                        ),
                        name="erasure_names_its_target",
                    ),
                ],
            },
            bases=(apps.crypto.models.InKeyring, models.Model),
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
            options={
                "indexes": [models.Index(fields=["tenant_uid", "-index"], name="receipts_newest")],
                "constraints": [
                    models.UniqueConstraint(fields=("erasure_uid", "phase"), name="receipt_once_per_phase"),
                    models.CheckConstraint(
                        condition=models.Q(("phase__in", ["deleted", "purged", "backups_expired"])),
                        name="receipt_phase",
                    ),
                ],
            },
            bases=(apps.crypto.models.InKeyring, models.Model),
        ),
        migrations.CreateModel(
            name="Hold",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                ("created_at", models.DateTimeField()),
                (
                    "level",
                    models.CharField(
                        choices=[
                            ("tenant", "Tenant"),
                            ("project", "Project"),
                            ("space", "Space"),
                            ("memory", "Memory"),
                        ],
                        max_length=8,
                    ),
                ),
                ("project_id", models.BigIntegerField(null=True)),
                ("space_id", models.BigIntegerField(null=True)),
                ("memory_id", models.BigIntegerField(null=True)),
                ("case", models.CharField(max_length=64)),
                ("set_by", models.CharField(max_length=64)),
                ("lifted_at", models.DateTimeField(null=True)),
                ("lifted_by", models.CharField(blank=True, max_length=64)),
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
                    models.Index(
                        condition=models.Q(("lifted_at__isnull", True)), fields=["tenant", "id"], name="holds_in_force"
                    )
                ],
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(("level__in", ["tenant", "project", "space", "memory"])), name="hold_level"
                    )
                ],
            },
            managers=[("everyone", django.db.models.manager.Manager())],
        ),
    ]
