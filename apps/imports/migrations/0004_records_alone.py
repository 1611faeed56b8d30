from typing import ClassVar

from django.db import migrations, models


class Migration(migrations.Migration):
    """A batch that ends workers is taken apart: then several rows have its number, and each a line of its own."""

    dependencies: ClassVar = [("imports", "0003_pending_review")]

    operations: ClassVar = [
        migrations.AddConstraint(
            "importchunk",
            models.UniqueConstraint(fields=("tenant", "job", "first_line"), name="import_chunk_line"),
        ),
        migrations.RemoveConstraint("importchunk", "import_chunk_once"),
    ]
