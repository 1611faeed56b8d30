from typing import ClassVar

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies: ClassVar = [("memories", "0006_analysis")]

    operations: ClassVar = [
        migrations.AddField(
            model_name="memory",
            name="fields_ct",
            field=models.BinaryField(null=True, help_text="Values of the fields of its type."),
        ),
        migrations.AddField(model_name="owntype", name="fields", field=models.JSONField(default=list)),
    ]
