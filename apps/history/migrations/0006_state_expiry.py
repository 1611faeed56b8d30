from typing import ClassVar

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies: ClassVar = [("history", "0005_withheld"), ("tenants", "0001_tables")]

    operations: ClassVar = [
        migrations.AddField("stateitem", "expires_at", models.DateTimeField(null=True)),
        migrations.AddIndex(
            "stateitem",
            models.Index(
                condition=models.Q(("expires_at__isnull", False)), fields=["tenant", "expires_at"], name="state_expires"
            ),
        ),
    ]
