"""A policy says what the age of memories is counted from."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("projects", "0005_note_changes")]

    operations = [
        migrations.AddField(
            model_name="retentionpolicy",
            name="active_from",
            field=models.SmallIntegerField(
                choices=[(0, "When it was stored"), (1, "When it was last said or recalled")], null=True
            ),
        ),
        migrations.AddConstraint(
            model_name="retentionpolicy",
            constraint=models.CheckConstraint(
                condition=models.Q(("active_from__isnull", True), ("active_from__in", [0, 1]), _connector="OR"),
                name="retention_policy_active_from",
            ),
        ),
    ]
