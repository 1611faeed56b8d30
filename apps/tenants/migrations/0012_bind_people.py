"""A keyed hash in the rows of end users, over who they are looked up as.  `memsync prepare` makes those of rows that are
there."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("tenants", "0011_bind_rows"),
    ]

    operations = [
        migrations.AddField(
            model_name="enduser",
            name="row_mac",
            field=models.BinaryField(max_length=36, null=True),
        ),
    ]
