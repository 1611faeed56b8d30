from typing import ClassVar

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies: ClassVar = [("memories", "0005_search_storage")]

    operations: ClassVar = [
        migrations.AddField(
            model_name="memory",
            name="analysis_ct",
            field=models.BinaryField(help_text="What ranking reads of the text (text.analysis).", null=True),
        ),
    ]
