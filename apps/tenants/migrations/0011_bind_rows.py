"""A keyed hash in the rows of tenants and memberships, over what they grant.  `memsync prepare` makes those of rows
that are there."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("tenants", "0010_say_who_needs_a_factor"),
    ]

    operations = [
        migrations.AddField(
            model_name="tenant",
            name="row_mac",
            field=models.BinaryField(max_length=36, null=True),
        ),
        migrations.AddField(
            model_name="membership",
            name="row_mac",
            field=models.BinaryField(max_length=36, null=True),
        ),
    ]
