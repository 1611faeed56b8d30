from typing import ClassVar

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies: ClassVar = [("history", "0003_ids")]

    operations: ClassVar = [
        migrations.AddIndex(
            model_name="historyturn", index=models.Index(fields=["tenant", "space", "-id"], name="turn_newest")
        ),
    ]
