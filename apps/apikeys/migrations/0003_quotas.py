"""Monthly quotas of tenants, and what is used of them."""

import django.db.models.deletion
import django.db.models.manager
from django.db import migrations, models

from apps.core.scoping import isolation_sql


class Migration(migrations.Migration):
    dependencies = [
        ("apikeys", "0002_wall_tenants"),
        ("tenants", "0002_wall_tenants"),
    ]

    operations = [
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
            managers=[
                ("everyone", django.db.models.manager.Manager()),
            ],
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
            managers=[
                ("everyone", django.db.models.manager.Manager()),
            ],
        ),
        migrations.RunSQL(*isolation_sql("apikeys_quotause")),
        migrations.RunSQL(*isolation_sql("apikeys_tenantquota")),
    ]
