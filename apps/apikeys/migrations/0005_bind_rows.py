"""A keyed hash in the rows of keys, over what they grant.  `memsync prepare` makes those of rows that are there."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("apikeys", "0004_offer_keys"),
    ]

    operations = [
        migrations.AddField(
            model_name="apikey",
            name="row_mac",
            field=models.BinaryField(max_length=36, null=True),
        ),
    ]
