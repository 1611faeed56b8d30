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
            name="ForgetRequest",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                ("created_at", models.DateTimeField()),
                ("project_id", models.BigIntegerField(null=True)),
                ("state", models.CharField(default="pending", max_length=12)),
                ("choice_ct", models.BinaryField()),
                ("reason_ct", models.BinaryField(null=True)),
                ("key_version", models.IntegerField()),
                ("requested_by", models.CharField(max_length=64)),
                ("expires_at", models.DateTimeField()),
                ("decided_at", models.DateTimeField(null=True)),
                ("decided_by", models.CharField(blank=True, max_length=64)),
                ("forgotten", models.IntegerField(null=True)),
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
                    models.Index(fields=["tenant", "space", "-id"], name="forget_requests_of_space"),
                    models.Index(
                        condition=models.Q(("state", "pending")),
                        fields=["tenant", "expires_at"],
                        name="forget_requests_pending",
                    ),
                    models.Index(fields=["tenant", "key_version", "id"], name="forget_request_key_version"),
                ],
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(("state__in", ["pending", "confirmed", "refused", "expired", "cancelled"])),
                        name="forget_request_state",
                    )
                ],
            },
            managers=[("everyone", django.db.models.manager.Manager())],
        ),
        migrations.CreateModel(
            name="PrivacyRequest",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                ("created_at", models.DateTimeField()),
                ("end_user_id", models.BigIntegerField()),
                ("kind", models.CharField(max_length=8)),
                ("state", models.CharField(default="pending", max_length=12)),
                ("requested_by", models.CharField(max_length=64)),
                ("due_at", models.DateTimeField()),
                ("started_at", models.DateTimeField(null=True)),
                ("completed_at", models.DateTimeField(null=True)),
                ("handled_by", models.CharField(blank=True, max_length=64)),
                ("attempts", models.IntegerField(default=0)),
                ("error", models.CharField(blank=True, max_length=64)),
                ("records", models.BigIntegerField(null=True)),
                (
                    "evidence",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.CharField(max_length=40), default=list, size=None
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
                "indexes": [models.Index(fields=["tenant", "-id"], name="privacy_requests_newest")],
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(("kind__in", ["access", "export", "delete"])), name="privacy_request_kind"
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("state__in", ["pending", "in_progress", "completed", "failed"])),
                        name="privacy_request_state",
                    ),
                    models.UniqueConstraint(
                        condition=models.Q(("state", "completed"), _negated=True),
                        fields=("tenant", "end_user_id", "kind"),
                        name="privacy_request_once",
                    ),
                ],
            },
            managers=[("everyone", django.db.models.manager.Manager())],
        ),
        migrations.CreateModel(
            name="RetentionNotice",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                ("created_at", models.DateTimeField()),
                ("environment", models.CharField(max_length=16)),
                ("project_id", models.BigIntegerField(null=True)),
                ("first_on", models.DateField()),
                ("count", models.BigIntegerField()),
                ("told_at", models.DateTimeField()),
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
                    models.UniqueConstraint(
                        fields=("tenant", "environment", "project_id"),
                        name="retention_notice_once",
                        nulls_distinct=False,
                    )
                ],
            },
            managers=[("everyone", django.db.models.manager.Manager())],
        ),
        migrations.CreateModel(
            name="RetentionRun",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                ("created_at", models.DateTimeField()),
                ("token", models.UUIDField()),
                ("leased_until", models.DateTimeField()),
                ("finished_at", models.DateTimeField(null=True)),
                ("times_resumed", models.IntegerField(default=0)),
                ("archived", models.BigIntegerField(default=0)),
                ("deleted", models.BigIntegerField(default=0)),
                ("purged", models.BigIntegerField(default=0)),
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
                "indexes": [models.Index(fields=["tenant", "-id"], name="retention_runs")],
                "constraints": [
                    models.UniqueConstraint(
                        condition=models.Q(("finished_at__isnull", True)), fields=("tenant",), name="retention_one_run"
                    )
                ],
            },
            managers=[("everyone", django.db.models.manager.Manager())],
        ),
    ]
