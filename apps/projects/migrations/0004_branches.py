"""Branches: temporary copies of a space."""

from typing import ClassVar

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies: ClassVar = [("projects", "0003_namespaces"), ("tenants", "0003_session_summaries")]

    operations: ClassVar = [
        migrations.AddField(
            model_name="space",
            name="branch",
            field=models.CharField(blank=True, db_default="", default="", help_text="Empty: no branch.", max_length=64),
        ),
        migrations.AddField(
            model_name="space",
            name="origin_uid",
            field=models.UUIDField(editable=False, help_text="The space that a branch was copied from.", null=True),
        ),
        migrations.AddField(model_name="space", name="expires_at", field=models.DateTimeField(null=True)),
        migrations.RemoveConstraint(model_name="space", name="space_once"),
        migrations.AddConstraint(
            model_name="space",
            constraint=models.UniqueConstraint(
                fields=("tenant", "environment", "kind", "owner_id", "branch"), name="space_once"
            ),
        ),
        migrations.AddIndex(
            model_name="space",
            index=models.Index(
                condition=models.Q(("origin_uid__isnull", False)),
                fields=["tenant", "origin_uid"],
                name="space_branches",
            ),
        ),
    ]
