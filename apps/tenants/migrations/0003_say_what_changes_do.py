"""Two more policies of a tenant: what becomes of changed claims, and of instructions that extraction finds."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("tenants", "0002_wall_tenants"),
    ]

    operations = [
        migrations.AddField(
            model_name="tenant",
            name="changes",
            field=models.CharField(
                choices=[
                    ("replace", "The newer value replaces the older one"),
                    ("dispute", "Both stand, disputed, until somebody decides"),
                ],
                default="replace",
                max_length=8,
            ),
        ),
        migrations.AddField(
            model_name="tenant",
            name="instructions",
            field=models.CharField(
                choices=[
                    ("review", "It waits for review: a planted one must never take effect"),
                    ("keep", "It takes effect at once"),
                ],
                default="review",
                max_length=8,
            ),
        ),
        migrations.AddConstraint(
            model_name="tenant",
            constraint=models.CheckConstraint(
                condition=models.Q(("changes__in", ["replace", "dispute"])), name="tenant_changes"
            ),
        ),
        migrations.AddConstraint(
            model_name="tenant",
            constraint=models.CheckConstraint(
                condition=models.Q(("instructions__in", ["review", "keep"])), name="tenant_instructions"
            ),
        ),
    ]
