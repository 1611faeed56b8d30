"""How many memories of each type there are is counted from an index."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("memories", "0012_expiry_of_archived_too"),
        ("projects", "0004_set_retention"),
        ("tenants", "0005_say_who_may_rerank"),
    ]

    operations = [
        migrations.AddIndex(
            model_name="memory",
            index=models.Index(
                fields=["tenant", "environment", "type", "validity", "retention_status"], name="memory_tally"
            ),
        ),
    ]
