"""Which reranking model may read what was said."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("tenants", "0004_say_who_may_read"),
    ]

    operations = [
        migrations.AddField(
            model_name="tenant",
            name="ai_rerank",
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
                condition=models.Q(("ai_rerank__in", ["allow", "self_hosted_only", "deny"])), name="tenant_ai_rerank"
            ),
        ),
    ]
