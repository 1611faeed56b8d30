"""What of a project waits for a person."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("projects", "0002_wall_tenants"),
        ("tenants", "0002_wall_tenants"),
    ]

    operations = [
        migrations.AddField(
            model_name="project",
            name="review",
            field=models.CharField(
                choices=[
                    ("by_door", "Of turns what is unsure, of other ways in nothing"),
                    ("off", "Nothing"),
                    ("low_confidence", "What is unsure"),
                    ("all", "Everything"),
                ],
                db_default="by_door",
                default="by_door",
                max_length=16,
            ),
        ),
        migrations.AddConstraint(
            model_name="project",
            constraint=models.CheckConstraint(
                condition=models.Q(("review__in", ["by_door", "off", "low_confidence", "all"])), name="project_review"
            ),
        ),
    ]
