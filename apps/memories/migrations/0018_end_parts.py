"""A memory may hold in part: which words of it do not, since when and by what; each of several claims has an end."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("memories", "0017_drop_fixed_end"),
        ("projects", "0007_bind_spaces"),
        ("tenants", "0012_bind_people"),
    ]

    operations = [
        migrations.RemoveConstraint(
            model_name="memoryclaim",
            name="claim_once_per_memory",
        ),
        migrations.AddField(
            model_name="memory",
            name="outdated_by_id",
            field=models.BigIntegerField(
                help_text="A later memory that may have made it untrue, which is not sure enough to replace it.",
                null=True,
            ),
        ),
        migrations.AddField(
            model_name="memory",
            name="parts_ct",
            field=models.BinaryField(help_text="Which parts of it hold no longer, since when and by what.", null=True),
        ),
        migrations.AddField(
            model_name="memory",
            name="said_ct",
            field=models.BinaryField(
                help_text="The text as it was said, where a part of it holds no longer.", null=True
            ),
        ),
        migrations.AddField(
            model_name="memoryclaim",
            name="known_from",
            field=models.DateTimeField(null=True),
        ),
        migrations.AddField(
            model_name="memoryclaim",
            name="slot",
            field=models.BinaryField(max_length=16, null=True),
        ),
        migrations.AddField(
            model_name="memoryclaim",
            name="superseded_by_id",
            field=models.BigIntegerField(null=True),
        ),
        migrations.AddField(
            model_name="memoryclaim",
            name="valid_from",
            field=models.DateTimeField(null=True),
        ),
        migrations.AddField(
            model_name="memoryclaim",
            name="valid_to",
            field=models.DateTimeField(null=True),
        ),
        migrations.AddField(
            model_name="memoryclaim",
            name="validity",
            field=models.CharField(
                blank=True,
                choices=[("current", "Current"), ("superseded", "Superseded"), ("disputed", "Disputed")],
                db_default="",
                default="",
                max_length=12,
            ),
        ),
        migrations.AddField(
            model_name="memoryclaim",
            name="value_mac",
            field=models.BinaryField(max_length=16, null=True),
        ),
        migrations.AddIndex(
            model_name="memoryclaim",
            index=models.Index(fields=["tenant", "memory"], name="claims_of_memory"),
        ),
        migrations.AddIndex(
            model_name="memoryclaim",
            index=models.Index(
                condition=models.Q(("slot__isnull", False)), fields=["tenant", "space", "slot"], name="claim_slot"
            ),
        ),
    ]
