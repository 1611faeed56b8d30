from typing import ClassVar

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies: ClassVar = [("tenants", "0002_isolation")]

    operations: ClassVar = [
        migrations.AddField(
            "tenant",
            "session_summaries",
            models.CharField(
                max_length=8,
                choices=[("off", "Only when a caller asks"), ("on", "After 20 turns, and 10 minutes after the last")],
                default="off",
                db_default="off",
            ),
        ),
        migrations.AddConstraint(
            "tenant",
            models.CheckConstraint(
                condition=models.Q(session_summaries__in=["off", "on"]), name="tenant_session_summaries"
            ),
        ),
    ]
