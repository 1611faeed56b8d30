"""An index of the few pinned memories of a space."""

from typing import ClassVar

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies: ClassVar = [("memories", "0008_checkpoints")]

    operations: ClassVar = [
        migrations.AddIndex(
            "memory",
            models.Index(fields=("tenant", "space", "-id"), condition=models.Q(pinned=True), name="memory_pinned"),
        ),
    ]
