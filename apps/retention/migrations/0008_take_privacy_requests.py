"""Requests of people about all that is kept of them, behind the wall of the tenant."""

import django.contrib.postgres.fields
import django.db.models.deletion
import django.db.models.manager
from django.db import migrations, models

from apps.core.scoping import isolation_sql


class Migration(migrations.Migration):
    dependencies = [
        ("retention", "0007_note_purges"),
        ("tenants", "0005_say_who_may_rerank"),
    ]

    operations = [
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
            managers=[
                ("everyone", django.db.models.manager.Manager()),
            ],
        ),
        migrations.RunSQL(*isolation_sql("retention_privacyrequest")),
    ]
