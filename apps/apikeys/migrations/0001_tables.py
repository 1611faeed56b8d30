"""Tables of the app."""

import django.contrib.postgres.fields
import django.db.models.deletion
import django.db.models.manager
from django.db import migrations, models


class Migration(migrations.Migration):
    initial = True

    dependencies = [("projects", "0001_tables"), ("tenants", "0001_tables")]

    operations = [
        migrations.CreateModel(
            name="RateWindow",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                ("caller", models.CharField(max_length=64)),
                ("seconds", models.IntegerField()),
                ("window", models.BigIntegerField()),
                ("count", models.IntegerField(default=1)),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(fields=("caller", "seconds", "window"), name="rate_window_once")
                ]
            },
        ),
        migrations.CreateModel(
            name="ApiKey",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                ("created_at", models.DateTimeField()),
                ("row_mac", models.BinaryField(max_length=36, null=True)),
                ("name", models.CharField(max_length=128)),
                ("kid", models.CharField(editable=False, max_length=11, unique=True)),
                ("digest", models.BinaryField(max_length=32)),
                ("pepper_version", models.IntegerField(default=1, editable=False)),
                ("environment", models.CharField(max_length=16)),
                (
                    "scopes",
                    django.contrib.postgres.fields.ArrayField(base_field=models.CharField(max_length=48), size=None),
                ),
                ("expires_at", models.DateTimeField(blank=True, null=True)),
                ("revoked_at", models.DateTimeField(blank=True, null=True)),
                ("last_used_at", models.DateTimeField(blank=True, null=True)),
                (
                    "project",
                    models.ForeignKey(
                        blank=True,
                        db_constraint=False,
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        to="projects.project",
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
                "ordering": ("-id",),
                "abstract": False,
                "default_manager_name": "everyone",
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(("environment__in", ["development", "staging", "production"])),
                        name="api_key_environment",
                    )
                ],
            },
            managers=[("everyone", django.db.models.manager.Manager())],
        ),
        migrations.CreateModel(
            name="KeyOffer",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                ("created_at", models.DateTimeField()),
                ("name", models.CharField(max_length=128)),
                ("environment", models.CharField(max_length=16)),
                (
                    "scopes",
                    django.contrib.postgres.fields.ArrayField(base_field=models.CharField(max_length=48), size=None),
                ),
                ("days", models.IntegerField()),
                ("old_key_id", models.BigIntegerField(blank=True, null=True)),
                ("grace_hours", models.IntegerField(blank=True, null=True)),
                ("offered_by", models.BigIntegerField()),
                ("expires_at", models.DateTimeField()),
                ("accepted_at", models.DateTimeField(blank=True, null=True)),
                ("declined_at", models.DateTimeField(blank=True, null=True)),
                ("decided_by", models.BigIntegerField(blank=True, null=True)),
                ("key_id", models.BigIntegerField(blank=True, null=True)),
                (
                    "project",
                    models.ForeignKey(
                        blank=True,
                        db_constraint=False,
                        db_index=False,
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        to="projects.project",
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
                "ordering": ("-id",),
                "abstract": False,
                "default_manager_name": "everyone",
                "indexes": [models.Index(fields=["tenant", "project"], name="key_offer_project")],
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(("environment__in", ["development", "staging", "production"])),
                        name="key_offer_environment",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("accepted_at", None), ("declined_at", None), _connector="OR"),
                        name="key_offer_decided_once",
                    ),
                ],
            },
            managers=[("everyone", django.db.models.manager.Manager())],
        ),
        migrations.CreateModel(
            name="QuotaUse",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                ("created_at", models.DateTimeField()),
                ("month", models.CharField(max_length=7)),
                ("meter", models.CharField(max_length=16)),
                ("used", models.BigIntegerField(default=0)),
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
                "constraints": [models.UniqueConstraint(fields=("tenant", "month", "meter"), name="quota_use_once")],
            },
            managers=[("everyone", django.db.models.manager.Manager())],
        ),
        migrations.CreateModel(
            name="TenantQuota",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                ("created_at", models.DateTimeField()),
                ("mode", models.CharField(default="off", max_length=8)),
                ("adds", models.BigIntegerField(null=True)),
                ("retrievals", models.BigIntegerField(null=True)),
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
                    models.UniqueConstraint(fields=("tenant",), name="quota_of_tenant"),
                    models.CheckConstraint(
                        condition=models.Q(("mode__in", ("off", "strict", "silent"))), name="quota_mode"
                    ),
                ],
            },
            managers=[("everyone", django.db.models.manager.Manager())],
        ),
    ]
