"""A third value of what becomes of instructions, the default of tenants that are made from now on."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("tenants", "0012_bind_people"),
    ]

    operations = [
        migrations.RemoveConstraint(model_name="tenant", name="tenant_instructions"),
        migrations.AlterField(
            model_name="tenant",
            name="instructions",
            field=models.CharField(
                choices=[
                    ("style", "A user's own wish of how to be answered takes effect; all others wait for review"),
                    ("review", "It waits for review: a planted one must never take effect"),
                    ("keep", "It takes effect at once"),
                ],
                default="style",
                max_length=8,
            ),
        ),
        migrations.AddConstraint(
            model_name="tenant",
            constraint=models.CheckConstraint(
                condition=models.Q(("instructions__in", ["style", "review", "keep"])), name="tenant_instructions"
            ),
        ),
    ]
