"""Tables of the app."""

from django.db import migrations, models


class Migration(migrations.Migration):
    initial = True

    dependencies = []

    operations = [
        migrations.CreateModel(
            name="KeyRewrap",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                ("created_at", models.DateTimeField()),
                ("actor", models.CharField(max_length=64)),
                ("done", models.BigIntegerField(default=0)),
                ("failed", models.BigIntegerField(default=0)),
                ("finished_at", models.DateTimeField(null=True)),
            ],
            options={"abstract": False},
        ),
        migrations.CreateModel(
            name="KeyRotation",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                ("created_at", models.DateTimeField()),
                ("tenant_id", models.BigIntegerField()),
                ("actor", models.CharField(max_length=64)),
                ("reason", models.CharField(blank=True, max_length=64)),
                ("is_compromise", models.BooleanField(default=False)),
                (
                    "state",
                    models.CharField(
                        choices=[
                            ("asked", "Asked for: the next key is being made"),
                            ("running", "Rows are being sealed under the new key"),
                            ("done", "Every row is under the new key"),
                            ("overtaken", "Another rotation does the rest"),
                        ],
                        default="asked",
                        max_length=12,
                    ),
                ),
                ("window", models.DurationField()),
                ("from_version", models.IntegerField(null=True)),
                ("to_version", models.IntegerField(null=True)),
                ("identity_to", models.IntegerField(null=True)),
                ("rows_total", models.BigIntegerField(default=0)),
                ("rows_done", models.BigIntegerField(default=0)),
                ("rows_quarantined", models.BigIntegerField(default=0)),
                ("started_at", models.DateTimeField(null=True)),
                ("finished_at", models.DateTimeField(null=True)),
                ("warned_at", models.DateTimeField(null=True)),
            ],
            options={
                "indexes": [models.Index(fields=["tenant_id", "-id"], name="key_rotation_newest")],
                "constraints": [
                    models.UniqueConstraint(
                        condition=models.Q(("state__in", ("asked", "running"))),
                        fields=("tenant_id",),
                        name="key_rotation_one_open",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("state__in", ["asked", "running", "done", "overtaken"])),
                        name="key_rotation_state",
                    ),
                ],
            },
        ),
    ]
