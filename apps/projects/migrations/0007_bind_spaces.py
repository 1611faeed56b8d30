"""A keyed hash in the rows of spaces, over whose they are.  `memsync prepare` makes those of rows that are
there."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("projects", "0006_count_age_from_use"),
    ]

    operations = [
        migrations.AddField(
            model_name="space",
            name="row_mac",
            field=models.BinaryField(max_length=36, null=True),
        ),
    ]
