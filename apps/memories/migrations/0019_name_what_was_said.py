"""What a memory said is known again, where words of it have ended."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("memories", "0018_end_parts"),
        ("projects", "0007_bind_spaces"),
        ("tenants", "0013_own_style_wishes"),
    ]

    operations = [
        migrations.AddField(
            model_name="memory",
            name="said_mac",
            field=models.BinaryField(
                help_text="Of the text as it was said, where parts ended.", max_length=16, null=True
            ),
        ),
        migrations.AddIndex(
            model_name="memory",
            index=models.Index(
                condition=models.Q(("said_mac__isnull", False)),
                fields=["tenant", "space", "said_mac"],
                name="memory_said",
            ),
        ),
    ]
