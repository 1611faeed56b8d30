"""Conflicts of claims with limits are listed beside contradictions, by the same index."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("edges", "0002_wall_edges")]

    operations = [
        migrations.RemoveIndex(model_name="memoryedge", name="edge_contradiction"),
        migrations.AddIndex(
            model_name="memoryedge",
            index=models.Index(
                condition=models.Q(("type__in", ("contradiction", "conflicts_with"))),
                fields=["tenant", "space", "-id"],
                name="edge_decidable",
            ),
        ),
    ]
