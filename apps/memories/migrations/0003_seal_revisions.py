"""What a revision changed, sealed, and which fields."""

import django.contrib.postgres.fields
from django.db import migrations, models

from apps.crypto.encrypted_tables import guard_sql


class Migration(migrations.Migration):
    dependencies = [
        ("memories", "0002_wall_tenants"),
        ("tenants", "0002_wall_tenants"),
    ]

    operations = [
        migrations.AddField(
            model_name="memorytransition",
            name="changed_fields",
            field=django.contrib.postgres.fields.ArrayField(
                base_field=models.CharField(max_length=32), default=list, size=None
            ),
        ),
        migrations.AddField(
            model_name="memorytransition",
            name="diff_ct",
            field=models.BinaryField(null=True),
        ),
        migrations.AddField(
            model_name="memorytransition",
            name="key_version",
            field=models.IntegerField(null=True),
        ),
        migrations.AddIndex(
            model_name="memorytransition",
            index=models.Index(
                condition=models.Q(("key_version__isnull", False)),
                fields=["tenant", "key_version", "id"],
                name="transition_key_version",
            ),
        ),
        migrations.RunSQL(*guard_sql("memories_memorytransition")),
    ]
