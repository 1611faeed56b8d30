"""Purges of the files of both databases, in the keyring database."""

from django.db import migrations, models

import apps.crypto.models


class Migration(migrations.Migration):
    dependencies = [
        ("retention", "0006_guard_receipts"),
    ]

    operations = [
        migrations.CreateModel(
            name="Purge",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                ("started_at", models.DateTimeField()),
                ("horizons", models.JSONField()),
                ("tables", models.JSONField(default=dict)),
                ("finished_at", models.DateTimeField(null=True)),
            ],
            bases=(apps.crypto.models.InKeyring, models.Model),
        ),
    ]
