"""Tables of the app."""

import uuid

import django.db.models.deletion
import django.db.models.manager
from django.db import migrations, models

import apps.projects.models


class Migration(migrations.Migration):
    initial = True

    dependencies = [("tenants", "0001_tables")]

    operations = [
        migrations.CreateModel(
            name="Project",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                ("created_at", models.DateTimeField()),
                ("public_id", models.CharField(default=apps.projects.models.new_project_id, max_length=64)),
                ("name", models.CharField(max_length=200)),
                ("is_default", models.BooleanField(default=False)),
                ("archived_at", models.DateTimeField(blank=True, null=True)),
                ("updated_at", models.DateTimeField(blank=True, null=True)),
                (
                    "review",
                    models.CharField(
                        choices=[
                            ("by_door", "Uncertain candidates from conversations, and nothing else"),
                            ("off", "Nothing"),
                            ("low_confidence", "Uncertain candidates"),
                            ("all", "Everything"),
                        ],
                        db_default="by_door",
                        default="by_door",
                        max_length=16,
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
                "ordering": ("name", "id"),
                "abstract": False,
                "default_manager_name": "everyone",
                "constraints": [
                    models.UniqueConstraint(fields=("tenant", "public_id"), name="project_public_id"),
                    models.UniqueConstraint(fields=("tenant", "id"), name="project_in_tenant"),
                    models.UniqueConstraint(
                        condition=models.Q(("is_default", True)), fields=("tenant",), name="project_one_default"
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("review__in", ["by_door", "off", "low_confidence", "all"])),
                        name="project_review",
                    ),
                ],
            },
            managers=[("everyone", django.db.models.manager.Manager())],
        ),
        migrations.CreateModel(
            name="Space",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                ("created_at", models.DateTimeField()),
                ("row_mac", models.BinaryField(max_length=36, null=True)),
                ("uid", models.UUIDField(default=uuid.uuid4, editable=False)),
                ("environment", models.CharField(max_length=16)),
                ("kind", models.CharField(max_length=16)),
                (
                    "profile",
                    models.CharField(
                        choices=[
                            ("searchable", "Keyed words and vectors: searched by the database"),
                            ("sealed", "Nothing: opened and searched in process; for small, sensitive spaces"),
                        ],
                        default="searchable",
                        max_length=12,
                    ),
                ),
                (
                    "identity_version",
                    models.IntegerField(default=1, help_text="Of the identity key that its handles are made with."),
                ),
                ("owner_id", models.BigIntegerField()),
                ("txid", models.BigIntegerField(default=0)),
                ("doc_count", models.BigIntegerField(default=0)),
                ("term_total", models.BigIntegerField(default=0)),
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
                "constraints": [
                    models.UniqueConstraint(fields=("tenant", "environment", "kind", "owner_id"), name="space_once"),
                    models.UniqueConstraint(fields=("tenant", "uid"), name="space_uid"),
                    models.UniqueConstraint(fields=("tenant", "id"), name="space_in_tenant"),
                    models.CheckConstraint(
                        condition=models.Q(("environment__in", ["development", "staging", "production"])),
                        name="space_environment",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("profile__in", ["searchable", "sealed"])), name="space_profile"
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("kind__in", ["end_user", "project", "agent", "profile", "org"])),
                        name="space_kind",
                    ),
                ],
            },
            managers=[("everyone", django.db.models.manager.Manager())],
        ),
    ]
