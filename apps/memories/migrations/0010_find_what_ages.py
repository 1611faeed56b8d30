"""What the retention looks for is found by an index, however much there is."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("memories", "0009_find_by_time"),
        ("projects", "0004_set_retention"),
        ("tenants", "0004_say_who_may_read"),
    ]

    operations = [
        migrations.AddIndex(
            model_name="memory",
            index=models.Index(
                condition=models.Q(("retention_status__in", ("active", "archived"))),
                fields=["tenant", "retention_expires_at"],
                name="memory_ageing",
            ),
        ),
        migrations.AddIndex(
            model_name="memory",
            index=models.Index(
                condition=models.Q(("retention_status", "archived")),
                fields=["tenant", "archive_at"],
                name="memory_archived",
            ),
        ),
        migrations.AddIndex(
            model_name="memory",
            index=models.Index(
                condition=models.Q(("retention_status__in", ("soft_deleted", "hard_delete_pending"))),
                fields=["tenant", "hard_delete_at"],
                name="memory_leaving",
            ),
        ),
        migrations.AddIndex(
            model_name="memory",
            index=models.Index(
                condition=models.Q(("type", "event")), fields=["tenant", "created_at"], name="memory_ageing_events"
            ),
        ),
        migrations.AddIndex(
            model_name="memory",
            index=models.Index(
                condition=models.Q(("validity", "superseded")),
                fields=["tenant", "superseded_at"],
                name="memory_replaced",
            ),
        ),
    ]
