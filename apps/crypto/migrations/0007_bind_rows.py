"""A key under which rows are bound to what they grant."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("crypto", "0006_seal_factors"),
    ]

    operations = [
        migrations.RemoveConstraint(
            model_name="servicekey",
            name="service_key_name",
        ),
        migrations.AlterField(
            model_name="servicekey",
            name="name",
            field=models.CharField(
                choices=[
                    ("pepper", "Pepper"),
                    ("cursor", "Cursor"),
                    ("audit", "Audit"),
                    ("receipt", "Receipt"),
                    ("factors", "Factors"),
                    ("rows", "Rows"),
                ],
                max_length=16,
            ),
        ),
        migrations.AddConstraint(
            model_name="servicekey",
            constraint=models.CheckConstraint(
                condition=models.Q(("name__in", ["pepper", "cursor", "audit", "receipt", "factors", "rows"])),
                name="service_key_name",
            ),
        ),
    ]
