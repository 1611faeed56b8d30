from typing import ClassVar

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies: ClassVar = [("imports", "0002_wall_tenants")]

    operations: ClassVar = [
        migrations.AddField("importjob", "pending_review", models.IntegerField(db_default=0, default=0)),
    ]
