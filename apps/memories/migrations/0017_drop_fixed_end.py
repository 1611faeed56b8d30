"""No row says when it ends: policies do."""

from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [("memories", "0016_find_what_was_not_used")]

    operations = [migrations.RemoveField(model_name="memory", name="retention_expires_at")]
