"""A key of the deployment that signs receipts."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("crypto", "0004_guard_key_versions"),
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
                choices=[("pepper", "Pepper"), ("cursor", "Cursor"), ("audit", "Audit"), ("receipt", "Receipt")],
                max_length=16,
            ),
        ),
        migrations.AddConstraint(
            model_name="servicekey",
            constraint=models.CheckConstraint(
                condition=models.Q(("name__in", ["pepper", "cursor", "audit", "receipt"])), name="service_key_name"
            ),
        ),
    ]
