"""Whether operators may read a space in an emergency."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("tenants", "0007_name_domains"),
    ]

    operations = [
        migrations.AddField(
            model_name="tenant",
            name="break_glass",
            field=models.CharField(
                choices=[
                    ("deny", "No operator reads anything"),
                    ("notify", "It is told of, in the console and the audit trail"),
                    ("ask", "One of the tenant's owners has to allow it each time"),
                ],
                db_default="ask",
                default="ask",
                max_length=8,
            ),
        ),
        migrations.AddConstraint(
            model_name="tenant",
            constraint=models.CheckConstraint(
                condition=models.Q(("break_glass__in", ["deny", "notify", "ask"])), name="tenant_break_glass"
            ),
        ),
    ]
