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
            name="WebhookEndpoint",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                ("created_at", models.DateTimeField()),
                ("environment", models.CharField(max_length=16)),
                ("project_id", models.BigIntegerField(null=True)),
                ("name", models.CharField(max_length=128)),
                ("url_ct", models.BinaryField()),
                ("description_ct", models.BinaryField(null=True)),
                ("secret_ct", models.BinaryField()),
                ("former_ct", models.BinaryField(null=True)),
                ("former_until", models.DateTimeField(null=True)),
                ("revision", models.IntegerField(default=0, help_text="Of all that is sealed; bound into the seals.")),
                ("key_version", models.IntegerField()),
                ("secret_prefix", models.CharField(max_length=16)),
                (
                    "events",
                    django.contrib.postgres.fields.ArrayField(base_field=models.CharField(max_length=32), size=None),
                ),
                ("is_enabled", models.BooleanField(default=True)),
                (
                    "signature_algorithm",
                    models.CharField(choices=[("hmac-sha256", "Sha256"), ("hmac-sha512", "Sha512")], max_length=16),
                ),
                ("signature_header", models.CharField(max_length=64)),
                ("timestamp_header", models.CharField(max_length=64)),
                ("signature_tolerance", models.IntegerField()),
                ("retry_enabled", models.BooleanField()),
                ("max_retries", models.IntegerField()),
                ("initial_delay_seconds", models.IntegerField()),
                ("max_delay_seconds", models.IntegerField()),
                ("backoff_multiplier", models.FloatField()),
                (
                    "retry_status_codes",
                    django.contrib.postgres.fields.ArrayField(base_field=models.CharField(max_length=3), size=None),
                ),
                ("created_by", models.CharField(max_length=64)),
                ("updated_at", models.DateTimeField()),
                ("total_deliveries", models.BigIntegerField(default=0, help_text="That ended.")),
                ("successful_deliveries", models.BigIntegerField(default=0)),
                (
                    "consecutive_failures",
                    models.IntegerField(default=0, help_text="Attempts, since the last that went well."),
                ),
                ("last_triggered_at", models.DateTimeField(null=True)),
                ("last_success_at", models.DateTimeField(null=True)),
                ("last_failure_at", models.DateTimeField(null=True)),
                ("last_error", models.CharField(blank=True, max_length=32)),
                ("last_status_code", models.IntegerField(null=True)),
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
            options={"abstract": False, "default_manager_name": "everyone"},
            managers=[("everyone", django.db.models.manager.Manager())],
        ),
        migrations.CreateModel(
            name="WebhookDelivery",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                ("created_at", models.DateTimeField()),
                (
                    "memory_ids",
                    django.contrib.postgres.fields.ArrayField(base_field=models.BigIntegerField(), size=None),
                ),
                ("event_id", models.UUIDField()),
                ("event_type", models.CharField(max_length=32)),
                ("payload", models.TextField()),
                (
                    "status",
                    models.CharField(
                        choices=[
                            ("pending", "Pending"),
                            ("retrying", "Retrying"),
                            ("delivered", "Delivered"),
                            ("failed", "Failed"),
                            ("dead_letter", "Dead Letter"),
                        ],
                        default="pending",
                        max_length=12,
                    ),
                ),
                ("attempt_number", models.IntegerField(default=0)),
                ("max_attempts", models.IntegerField()),
                ("next_retry_at", models.DateTimeField(null=True)),
                ("leased_until", models.DateTimeField(null=True)),
                ("completed_at", models.DateTimeField(null=True)),
                ("status_code", models.IntegerField(null=True)),
                ("latency_ms", models.IntegerField(null=True)),
                ("error", models.CharField(blank=True, max_length=32)),
                ("signature", models.CharField(blank=True, max_length=144)),
                ("attempts", models.JSONField(default=list)),
                ("response_ct", models.BinaryField(null=True)),
                ("key_version", models.IntegerField(null=True)),
                (
                    "space",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        null=True,
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
                (
                    "endpoint",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="webhooks.webhookendpoint",
                    ),
                ),
            ],
            options={"abstract": False, "default_manager_name": "everyone"},
            managers=[("everyone", django.db.models.manager.Manager())],
        ),
        migrations.CreateModel(
            name="WebhookEvent",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                ("created_at", models.DateTimeField()),
                ("type", models.CharField(max_length=32)),
                ("environment", models.CharField(blank=True, max_length=16)),
                ("project_id", models.BigIntegerField(null=True)),
                (
                    "memory_ids",
                    django.contrib.postgres.fields.ArrayField(base_field=models.BigIntegerField(), size=None),
                ),
                ("data", models.JSONField()),
                (
                    "space",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        null=True,
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
            options={"abstract": False, "default_manager_name": "everyone"},
            managers=[("everyone", django.db.models.manager.Manager())],
        ),
        migrations.AddIndex(
            model_name="webhookendpoint",
            index=models.Index(fields=["tenant", "key_version", "id"], name="webhook_endpoint_key_version"),
        ),
        migrations.AddConstraint(
            model_name="webhookendpoint",
            constraint=models.UniqueConstraint(fields=("tenant", "id"), name="webhook_endpoint_in_tenant"),
        ),
        migrations.AddConstraint(
            model_name="webhookendpoint",
            constraint=models.CheckConstraint(
                condition=models.Q(("signature_algorithm__in", ["hmac-sha256", "hmac-sha512"])),
                name="webhook_endpoint_algorithm",
            ),
        ),
        migrations.AddIndex(
            model_name="webhookdelivery",
            index=models.Index(fields=["tenant", "endpoint", "-id"], name="webhook_delivery_newest"),
        ),
        migrations.AddIndex(
            model_name="webhookdelivery", index=models.Index(fields=["tenant", "space"], name="webhook_delivery_space")
        ),
        migrations.AddIndex(
            model_name="webhookdelivery",
            index=models.Index(
                condition=models.Q(("leased_until__isnull", False)),
                fields=["tenant", "endpoint", "leased_until"],
                name="webhook_delivery_leased",
            ),
        ),
        migrations.AddIndex(
            model_name="webhookdelivery",
            index=models.Index(
                condition=models.Q(("key_version__isnull", False)),
                fields=["tenant", "key_version", "id"],
                name="webhook_delivery_key_version",
            ),
        ),
        migrations.AddConstraint(
            model_name="webhookdelivery",
            constraint=models.CheckConstraint(
                condition=models.Q(("status__in", ["pending", "retrying", "delivered", "failed", "dead_letter"])),
                name="webhook_delivery_status",
            ),
        ),
        migrations.AddIndex(
            model_name="webhookevent", index=models.Index(fields=["tenant", "space"], name="webhook_event_space")
        ),
    ]
