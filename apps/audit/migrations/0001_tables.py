"""Tables of the app."""

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    initial = True

    dependencies = []

    operations = [
        migrations.CreateModel(
            name="ChainHead",
            fields=[
                (
                    "chain",
                    models.BigIntegerField(
                        help_text="The tenant; 0 for rows of none.", primary_key=True, serialize=False
                    ),
                ),
                ("seq", models.BigIntegerField()),
                ("hash", models.CharField(max_length=64)),
            ],
        ),
        migrations.CreateModel(
            name="Checkpoint",
            fields=[
                ("number", models.BigIntegerField(primary_key=True, serialize=False)),
                ("made_at", models.DateTimeField()),
                ("deployment", models.CharField(max_length=64)),
                ("key_version", models.IntegerField()),
                ("chains", models.BigIntegerField()),
                ("rows", models.BigIntegerField()),
                ("root", models.CharField(max_length=64)),
                ("moved", models.CharField(max_length=64)),
                ("previous", models.CharField(max_length=64)),
                ("signature", models.CharField(max_length=128)),
            ],
        ),
        migrations.CreateModel(
            name="AuditEvent",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                ("created_at", models.DateTimeField()),
                ("tenant_id", models.BigIntegerField(null=True)),
                ("actor", models.CharField(max_length=64)),
                ("action", models.CharField(max_length=64)),
                ("target", models.CharField(blank=True, max_length=128)),
                ("outcome", models.CharField(default="ok", max_length=16)),
                ("reason", models.CharField(blank=True, max_length=64)),
                ("request_id", models.CharField(blank=True, max_length=64)),
                ("count", models.IntegerField(default=1)),
                (
                    "network",
                    models.CharField(blank=True, default="", help_text="Of the address that asked.", max_length=43),
                ),
                ("code_version", models.CharField(blank=True, default="", max_length=32)),
                (
                    "seq",
                    models.BigIntegerField(
                        help_text="From 1, without a gap; none until the transaction commits.", null=True
                    ),
                ),
                ("prev_hash", models.CharField(blank=True, default="", max_length=64)),
                ("hash", models.CharField(blank=True, default="", max_length=64)),
            ],
            options={
                "indexes": [
                    models.Index(condition=models.Q(("seq", None)), fields=["id"], name="audit_unchained"),
                    models.Index(
                        condition=models.Q(("action", "memory.recall")),
                        fields=["tenant_id", "created_at"],
                        include=("actor", "count"),
                        name="audit_recalls",
                    ),
                ],
                "constraints": [
                    models.UniqueConstraint(
                        condition=models.Q(("seq__isnull", False)),
                        fields=("tenant_id", "seq"),
                        name="audit_one_chain",
                        nulls_distinct=False,
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="CheckpointHead",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                ("chain", models.BigIntegerField()),
                ("seq", models.BigIntegerField()),
                ("hash", models.CharField(max_length=64)),
                (
                    "checkpoint",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="heads",
                        to="audit.checkpoint",
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(fields=("checkpoint", "chain"), name="checkpoint_head_once"),
                    models.UniqueConstraint(fields=("chain", "checkpoint"), name="checkpoint_head_of_chain"),
                ]
            },
        ),
    ]
