"""A recall scans these for one space, in a plan that is kept for all spaces: workers started for the average one take
longer than reading a small one."""

from typing import Final

from django.db import migrations

TABLES: Final = ("memories_memoryvector", "memories_posting")


class Migration(migrations.Migration):
    dependencies = [("memories", "0013_count_by_type")]

    operations = [
        migrations.RunSQL(
            f"alter table {table} set (parallel_workers = 0)", f"alter table {table} reset (parallel_workers)"
        )
        for table in TABLES
    ]
