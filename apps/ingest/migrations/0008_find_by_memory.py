"""Decisions are found by the memory that came of them.  Nothing is decided while the index is made: a second a million."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("ingest", "0007_undo_reviews"),
    ]

    operations = [
        migrations.AddIndex(
            model_name="candidate",
            index=models.Index(
                fields=["tenant", "memory_id"],
                condition=models.Q(("memory_id__isnull", False)),
                name="candidate_of_memory",
            ),
        ),
    ]
