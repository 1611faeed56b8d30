"""Work is leased instead of locked, and found by turns of tenants and kinds."""

from typing import ClassVar

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies: ClassVar = [("audit", "0004_index_recalls")]

    operations: ClassVar = [
        migrations.RemoveIndex(
            model_name="outboxevent",
            name="outbox_due",
        ),
        migrations.AddField(
            model_name="outboxevent",
            name="asked_again",
            field=models.IntegerField(db_default=0, default=0),
        ),
        migrations.AddField(
            model_name="outboxevent",
            name="holder",
            field=models.IntegerField(null=True),
        ),
        migrations.AddField(
            model_name="outboxevent",
            name="leased_until",
            field=models.DateTimeField(null=True),
        ),
        migrations.AddField(
            model_name="outboxevent",
            name="lost",
            field=models.IntegerField(db_default=0, default=0),
        ),
        migrations.AddField(
            model_name="outboxevent",
            name="position",
            field=models.BigIntegerField(db_default=0, default=0),
        ),
        migrations.AddField(
            model_name="outboxevent",
            name="token",
            field=models.UUIDField(null=True),
        ),
        migrations.AddIndex(
            model_name="outboxevent",
            index=models.Index(fields=["kind", "tenant_id", "run_after", "id"], name="outbox_turns"),
        ),
        migrations.AddIndex(
            model_name="outboxevent",
            index=models.Index(condition=models.Q(("token__isnull", False)), fields=["token"], name="outbox_leased"),
        ),
    ]
