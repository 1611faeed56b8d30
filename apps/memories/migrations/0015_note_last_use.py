"""Memories age from when they were last used: said again, recalled or, as a summary, made anew.

What was recalled before counts from then; the end that a row holds is 90 days after it was made, or made anew.
"""

from django.db import migrations, models

_FILL = """
update memories_memory set last_used_at = greatest(last_accessed_at, retention_expires_at - interval '90 days')
 where greatest(last_accessed_at, retention_expires_at - interval '90 days') > created_at;
"""


class Migration(migrations.Migration):
    dependencies = [("memories", "0014_scanned_by_one")]

    operations = [
        migrations.AddField(
            model_name="memory",
            name="last_used_at",
            field=models.DateTimeField(help_text="Its age counts from then; empty: from when it was made.", null=True),
        ),
        migrations.RunSQL(_FILL, migrations.RunSQL.noop),
    ]
