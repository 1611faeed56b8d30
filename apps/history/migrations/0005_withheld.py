from typing import ClassVar

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies: ClassVar = [("history", "0004_newest_turns")]

    operations: ClassVar = [
        migrations.AddField("historyturn", "is_withheld", models.BooleanField(default=False, db_default=False)),
    ]
