"""The types that a tenant adds to the registry, and the rules that tell them, behind the wall of the tenant."""

import django.contrib.postgres.fields
import django.db.models.deletion
import django.db.models.manager
from django.db import migrations, models

from apps.core.scoping import isolation_sql


class Migration(migrations.Migration):
    dependencies = [
        ("memories", "0006_keep_periods"),
        ("tenants", "0003_say_what_changes_do"),
    ]

    operations = [
        migrations.CreateModel(
            name="OwnType",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                ("created_at", models.DateTimeField()),
                ("name", models.CharField(max_length=32)),
                ("parent", models.CharField(blank=True, max_length=32)),
                ("group", models.CharField(blank=True, max_length=48)),
                ("prior", models.FloatField()),
                ("half_life_days", models.FloatField()),
                ("ttl", models.DurationField(null=True)),
                ("replaced_by", models.CharField(blank=True, max_length=32)),
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
                    models.UniqueConstraint(fields=("tenant", "name"), name="own_type_once"),
                    models.CheckConstraint(
                        condition=models.Q(("prior__gte", 0.0), ("prior__lte", 0.2)), name="own_type_prior"
                    ),
                    models.CheckConstraint(condition=models.Q(("half_life_days__gt", 0.0)), name="own_type_half_life"),
                ],
            },
            managers=[
                ("everyone", django.db.models.manager.Manager()),
            ],
        ),
        migrations.CreateModel(
            name="TypeRule",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                ("created_at", models.DateTimeField()),
                ("change_id", models.BigIntegerField()),
                ("type", models.CharField(max_length=32)),
                ("name", models.CharField(max_length=32)),
                (
                    "sources",
                    django.contrib.postgres.fields.ArrayField(base_field=models.CharField(max_length=32), size=None),
                ),
                (
                    "words",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.CharField(max_length=64), default=list, size=None
                    ),
                ),
                (
                    "unless",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.CharField(max_length=64), default=list, size=None
                    ),
                ),
                ("key_prefix", models.CharField(blank=True, max_length=64)),
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
                "indexes": [models.Index(fields=["tenant", "id"], name="type_rules_in_order")],
            },
            managers=[
                ("everyone", django.db.models.manager.Manager()),
            ],
        ),
        migrations.RunSQL(*isolation_sql("memories_owntype")),
        migrations.RunSQL(*isolation_sql("memories_typerule")),
    ]
