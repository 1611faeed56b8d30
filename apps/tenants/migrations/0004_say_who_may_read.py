"""Which language model may read what is said."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("tenants", "0003_say_what_changes_do"),
    ]

    operations = [
        migrations.AddField(
            model_name="tenant",
            name="ai_extract",
            field=models.CharField(
                choices=[
                    ("allow", "To any that the operator has named"),
                    ("self_hosted_only", "To one that the operator runs"),
                    ("deny", "To none"),
                ],
                db_default="self_hosted_only",
                default="self_hosted_only",
                max_length=16,
            ),
        ),
        migrations.AddConstraint(
            model_name="tenant",
            constraint=models.CheckConstraint(
                condition=models.Q(("ai_extract__in", ["allow", "self_hosted_only", "deny"])), name="tenant_ai_extract"
            ),
        ),
    ]
