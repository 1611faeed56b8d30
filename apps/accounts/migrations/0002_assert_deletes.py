"""Leave for one deed that cannot be taken back."""

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("accounts", "0001_initial"),
    ]

    operations = [
        migrations.CreateModel(
            name="Assertion",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                ("created_at", models.DateTimeField()),
                ("session", models.BinaryField(max_length=32)),
                ("binding", models.BinaryField(max_length=32)),
                ("authenticated_at", models.FloatField()),
                ("expires_at", models.DateTimeField()),
                ("used_at", models.DateTimeField(null=True)),
                (
                    "user",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="+", to=settings.AUTH_USER_MODEL
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(fields=("binding",), name="assertion_binding"),
                    models.UniqueConstraint(
                        condition=models.Q(("used_at__isnull", False)),
                        fields=("session", "authenticated_at"),
                        name="assertion_one_deed_per_step_up",
                    ),
                ],
            },
        ),
    ]
