"""Decisions about candidates can be taken back for a while; what became of candidates is counted by an index."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("ingest", "0006_count_models"),
        ("projects", "0004_set_retention"),
        ("tenants", "0005_say_who_may_rerank"),
    ]

    operations = [
        migrations.RemoveConstraint(
            model_name="reviewitem",
            name="review_item_says_it_while_pending",
        ),
        migrations.AddField(
            model_name="reviewitem",
            name="undo_until",
            field=models.DateTimeField(null=True),
        ),
        migrations.AddIndex(
            model_name="candidate",
            index=models.Index(
                fields=["tenant", "created_at"], include=("space", "decision", "reason"), name="candidate_of_a_time"
            ),
        ),
        migrations.AddIndex(
            model_name="reviewitem",
            index=models.Index(
                condition=models.Q(("undo_until__isnull", False)),
                fields=["tenant", "undo_until"],
                name="review_item_undoable",
            ),
        ),
        migrations.AddConstraint(
            model_name="reviewitem",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(("content_ct__isnull", False), ("state", "pending"), ("undo_until__isnull", True)),
                    models.Q(
                        models.Q(("state", "pending"), _negated=True),
                        ("content_ct__isnull", True),
                        ("undo_until__isnull", True),
                    ),
                    models.Q(
                        ("content_ct__isnull", False),
                        ("state__in", ("accepted", "rejected")),
                        ("undo_until__isnull", False),
                    ),
                    _connector="OR",
                ),
                name="review_item_says_it_while_open",
            ),
        ),
    ]
