"""What is past its own time is found by an index, also where it is archived already."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("memories", "0011_keep_tombstones"),
        ("projects", "0004_set_retention"),
        ("tenants", "0005_say_who_may_rerank"),
    ]

    operations = [
        migrations.RemoveIndex(
            model_name="memory",
            name="memory_expiring",
        ),
        migrations.AddIndex(
            model_name="memory",
            index=models.Index(
                condition=models.Q(("expires_at__isnull", False), ("retention_status__in", ("active", "archived"))),
                fields=["tenant", "expires_at"],
                name="memory_expires",
            ),
        ),
    ]
