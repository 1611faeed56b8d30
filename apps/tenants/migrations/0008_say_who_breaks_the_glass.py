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
                    ("notify", "Two operators are enough; the tenant sees it and can end it"),
                    ("ask", "An owner of the tenant allows it each time"),
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
