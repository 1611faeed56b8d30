"""Requests to forget, walled like all that belongs to a tenant."""

import django.db.models.deletion
import django.db.models.manager
from django.db import migrations, models

from apps.core.scoping import composite_key_sql, isolation_sql
from apps.crypto.encrypted_tables import guard_sql


class Migration(migrations.Migration):
    dependencies = [
        ("crypto", "0004_guard_key_versions"),
        ("projects", "0002_wall_tenants"),
        ("retention", "0002_append_only"),
        ("tenants", "0002_wall_tenants"),
    ]

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
            managers=[
                ("everyone", django.db.models.manager.Manager()),
            ],
        ),
        migrations.RunSQL(*guard_sql("retention_forgetrequest")),
        migrations.RunSQL(*isolation_sql("retention_forgetrequest")),
        migrations.RunSQL(*composite_key_sql("retention_forgetrequest", "space_id", "projects_space")),
    ]
