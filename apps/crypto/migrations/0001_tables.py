"""Tables of the app."""

import django.contrib.postgres.fields
import django.db.models.deletion
import django.db.models.functions.datetime
import django.db.models.manager
from django.db import migrations, models

import apps.crypto.models


class Migration(migrations.Migration):
    initial = True

    dependencies = [("tenants", "0001_tables")]

    operations = [
        migrations.CreateModel(
            name="ServiceKey",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                ("version", models.IntegerField()),
                ("wrapped", models.BinaryField(null=True)),
                ("kek_provider", models.CharField(max_length=32)),
                ("kek_ref", models.TextField()),
                ("kek_version", models.CharField(max_length=64)),
                ("check_value", models.BinaryField(max_length=16)),
                (
                    "state",
                    models.CharField(
                        choices=[
                            ("pending", "Pending"),
                            ("active", "Active"),
                            ("read_only", "Read Only"),
                            ("retired", "Retired"),
                            ("destroyed", "Destroyed"),
                        ],
                        default="pending",
                        max_length=12,
                    ),
                ),
                ("created_at", models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                (
                    "name",
                    models.CharField(
                        choices=[
                            ("pepper", "Pepper"),
                            ("cursor", "Cursor"),
                            ("audit", "Audit"),
                            ("receipt", "Receipt"),
                            ("factors", "Factors"),
                            ("rows", "Rows"),
                        ],
                        max_length=16,
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(fields=("name", "version"), name="service_key_once"),
                    models.UniqueConstraint(
                        condition=models.Q(("state", "active")), fields=("name",), name="service_key_one_active"
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("name__in", ["pepper", "cursor", "audit", "receipt", "factors", "rows"])),
                        name="service_key_name",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("state__in", ["pending", "active", "read_only", "retired", "destroyed"])),
                        name="service_key_state",
                    ),
                    models.CheckConstraint(condition=models.Q(("version__gte", 1)), name="service_key_version"),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("state", "destroyed"), ("wrapped__isnull", True)),
                            models.Q(models.Q(("state", "destroyed"), _negated=True), ("wrapped__isnull", False)),
                            _connector="OR",
                        ),
                        name="service_key_destroyed_has_no_bytes",
                    ),
                ]
            },
            bases=(apps.crypto.models.InKeyring, models.Model),
        ),
        migrations.CreateModel(
            name="SpaceSecret",
            fields=[
                ("space_uid", models.UUIDField(primary_key=True, serialize=False)),
                ("tenant_uid", models.UUIDField()),
                ("salt", models.BinaryField(max_length=32, null=True)),
                ("destroyed_at", models.DateTimeField(null=True)),
            ],
            options={
                "indexes": [models.Index(fields=["tenant_uid"], name="space_secret_of_tenant")],
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("destroyed_at__isnull", False), ("salt__isnull", True)),
                            models.Q(("destroyed_at__isnull", True), ("salt__isnull", False)),
                            _connector="OR",
                        ),
                        name="space_secret_destroyed_has_no_salt",
                    )
                ],
            },
            bases=(apps.crypto.models.InKeyring, models.Model),
        ),
        migrations.CreateModel(
            name="TenantKey",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                ("version", models.IntegerField()),
                ("wrapped", models.BinaryField(null=True)),
                ("kek_provider", models.CharField(max_length=32)),
                ("kek_ref", models.TextField()),
                ("kek_version", models.CharField(max_length=64)),
                ("check_value", models.BinaryField(max_length=16)),
                (
                    "state",
                    models.CharField(
                        choices=[
                            ("pending", "Pending"),
                            ("active", "Active"),
                            ("read_only", "Read Only"),
                            ("retired", "Retired"),
                            ("destroyed", "Destroyed"),
                        ],
                        default="pending",
                        max_length=12,
                    ),
                ),
                ("created_at", models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ("tenant_uid", models.UUIDField()),
                (
                    "kind",
                    models.CharField(
                        choices=[
                            ("root", "Content, terms and vectors: rotates"),
                            ("identity", "Ids and slots: rotates only on compromise"),
                        ],
                        max_length=12,
                    ),
                ),
                ("activated_at", models.DateTimeField(null=True)),
                ("read_only_until", models.DateTimeField(null=True)),
                ("retired_at", models.DateTimeField(null=True)),
                ("destroyed_at", models.DateTimeField(null=True)),
                ("reason", models.CharField(blank=True, max_length=64)),
                ("seals", models.BigIntegerField(default=0, help_text="About how many values were sealed under it.")),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(fields=("tenant_uid", "kind", "version"), name="tenant_key_once"),
                    models.UniqueConstraint(
                        condition=models.Q(("state", "active")),
                        fields=("tenant_uid", "kind"),
                        name="tenant_key_one_active",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("kind__in", ["root", "identity"])), name="tenant_key_kind"
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("state__in", ["pending", "active", "read_only", "retired", "destroyed"])),
                        name="tenant_key_state",
                    ),
                    models.CheckConstraint(condition=models.Q(("version__gte", 1)), name="tenant_key_version"),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("state", "destroyed"), ("wrapped__isnull", True)),
                            models.Q(models.Q(("state", "destroyed"), _negated=True), ("wrapped__isnull", False)),
                            _connector="OR",
                        ),
                        name="tenant_key_destroyed_has_no_bytes",
                    ),
                ]
            },
            bases=(apps.crypto.models.InKeyring, models.Model),
        ),
        migrations.CreateModel(
            name="TenantKeyState",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                ("created_at", models.DateTimeField()),
                ("active_version", models.IntegerField(default=1)),
                (
                    "live_versions",
                    django.contrib.postgres.fields.ArrayField(base_field=models.IntegerField(), size=None),
                ),
                ("identity_version", models.IntegerField(default=1)),
                ("key_epoch", models.BigIntegerField(default=1)),
                ("compromised", models.BooleanField(default=False)),
                (
                    "tenant",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE, related_name="+", to="tenants.tenant"
                    ),
                ),
            ],
            options={"abstract": False, "default_manager_name": "everyone"},
            managers=[("everyone", django.db.models.manager.Manager())],
        ),
    ]
