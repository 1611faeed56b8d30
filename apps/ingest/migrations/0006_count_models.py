"""Who read each piece of input, and what asking a model cost."""

import django.db.models.deletion
import django.db.models.manager
from django.db import migrations, models

from apps.core.scoping import isolation_sql


class Migration(migrations.Migration):
    dependencies = [
        ("ingest", "0005_review_queue"),
        ("tenants", "0004_say_who_may_read"),
    ]

    operations = [
        migrations.AddField(
            model_name="candidate",
            name="cost_micros",
            field=models.BigIntegerField(null=True),
        ),
        migrations.AddField(
            model_name="candidate",
            name="extractor",
            field=models.CharField(db_default="rules", default="rules", max_length=8),
        ),
        migrations.AddField(
            model_name="candidate",
            name="fallback",
            field=models.CharField(blank=True, db_default="", default="", max_length=16),
        ),
        migrations.AddField(
            model_name="candidate",
            name="tokens_in",
            field=models.IntegerField(null=True),
        ),
        migrations.AddField(
            model_name="candidate",
            name="tokens_out",
            field=models.IntegerField(null=True),
        ),
        migrations.CreateModel(
            name="ModelUse",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                ("created_at", models.DateTimeField()),
                ("day", models.DateField()),
                ("calls", models.IntegerField()),
                ("tokens", models.BigIntegerField()),
                ("cost_micros", models.BigIntegerField()),
                (
                    "tenant",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="tenants.tenant",
                    ),
                ),
            ],
            options={
                "abstract": False,
                "default_manager_name": "everyone",
                "constraints": [models.UniqueConstraint(fields=("tenant", "day"), name="model_use_once_a_day")],
            },
            managers=[
                ("everyone", django.db.models.manager.Manager()),
            ],
        ),
        migrations.RunSQL(*isolation_sql("ingest_modeluse")),
    ]
