"""What the retention looks for is found by when it was last used, or by when it was stored."""

import django.db.models.functions.comparison
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("memories", "0015_note_last_use")]

    operations = [
        migrations.RemoveIndex(model_name="memory", name="memory_ageing"),
        migrations.AddIndex(
            model_name="memory",
            index=models.Index(
                models.F("tenant"),
                django.db.models.functions.comparison.Greatest("created_at", "last_used_at"),
                condition=models.Q(("retention_status__in", ("active", "archived"))),
                name="memory_ageing",
            ),
        ),
        migrations.AddIndex(
            model_name="memory",
            index=models.Index(
                condition=models.Q(("retention_status__in", ("active", "archived"))),
                fields=["tenant", "created_at"],
                name="memory_stored",
            ),
        ),
    ]
