"""What is drawn of recalls, day by day, is read from an index."""

from typing import ClassVar

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies: ClassVar = [("audit", "0003_chain_events")]

    operations: ClassVar = [
        migrations.AddIndex(
            model_name="auditevent",
            index=models.Index(
                condition=models.Q(("action", "memory.recall")),
                fields=["tenant_id", "created_at"],
                include=("actor", "count"),
                name="audit_recalls",
            ),
        ),
    ]
