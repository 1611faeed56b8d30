"""Copies of memories in branches."""

from typing import ClassVar

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies: ClassVar = [("memories", "0009_pinned_index"), ("projects", "0004_branches")]

    operations: ClassVar = [
        migrations.AddField(
            model_name="memory",
            name="copied_from",
            field=models.BigIntegerField(help_text="In a branch: the memory that it is a copy of.", null=True),
        ),
        migrations.AddIndex(
            model_name="memory",
            index=models.Index(
                condition=models.Q(("copied_from__isnull", False)),
                fields=["tenant", "copied_from"],
                name="memory_copies",
            ),
        ),
    ]
