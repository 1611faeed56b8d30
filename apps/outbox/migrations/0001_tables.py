"""Tables of the app."""

from django.db import migrations, models


class Migration(migrations.Migration):
    initial = True

    dependencies = []

    operations = [
        migrations.CreateModel(
            name="OutboxEvent",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                ("created_at", models.DateTimeField()),
                ("tenant_id", models.BigIntegerField()),
                ("kind", models.CharField(max_length=48)),
                ("subject_id", models.BigIntegerField(help_text="The row, or the space, that the work is about.")),
                ("run_after", models.DateTimeField()),
                ("attempts", models.IntegerField(default=0)),
                ("error", models.CharField(blank=True, max_length=64)),
                ("token", models.UUIDField(null=True)),
                ("leased_until", models.DateTimeField(null=True)),
                ("holder", models.IntegerField(null=True)),
                ("asked_again", models.IntegerField(db_default=0, default=0)),
                ("lost", models.IntegerField(db_default=0, default=0)),
                ("position", models.BigIntegerField(db_default=0, default=0)),
            ],
            options={
                "indexes": [
                    models.Index(fields=["kind", "tenant_id", "run_after", "id"], name="outbox_turns"),
                    models.Index(condition=models.Q(("token__isnull", False)), fields=["token"], name="outbox_leased"),
                ],
                "constraints": [
                    models.UniqueConstraint(fields=("tenant_id", "kind", "subject_id"), name="outbox_once")
                ],
            },
        )
    ]
