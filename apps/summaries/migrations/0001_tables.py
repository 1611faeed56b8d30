"""Tables of the app."""

import django.db.models.deletion
import django.db.models.manager
from django.db import migrations, models


class Migration(migrations.Migration):
    initial = True

    dependencies = [("memories", "0001_tables"), ("projects", "0001_tables"), ("tenants", "0001_tables")]

    operations = [
        migrations.CreateModel(
            name="Cluster",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                ("created_at", models.DateTimeField()),
                ("type", models.CharField(max_length=32)),
                ("topic_mac", models.BinaryField(max_length=16)),
                ("label_ct", models.BinaryField()),
                ("key_version", models.IntegerField()),
                ("summary_id", models.BigIntegerField(null=True)),
                (
                    "project",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to="projects.project",
                    ),
                ),
                (
                    "space",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="projects.space",
                    ),
                ),
                (
                    "tenant",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="tenants.tenant",
                    ),
                ),
            ],
            options={"abstract": False, "default_manager_name": "everyone"},
            managers=[("everyone", django.db.models.manager.Manager())],
        ),
        migrations.CreateModel(
            name="ClusterMember",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                ("created_at", models.DateTimeField()),
                (
                    "cluster",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="summaries.cluster",
                    ),
                ),
                (
                    "memory",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="memories.memory",
                    ),
                ),
                (
                    "space",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="projects.space",
                    ),
                ),
                (
                    "tenant",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="tenants.tenant",
                    ),
                ),
            ],
            options={"abstract": False, "default_manager_name": "everyone"},
            managers=[("everyone", django.db.models.manager.Manager())],
        ),
        migrations.AddIndex(
            model_name="cluster", index=models.Index(fields=["tenant", "key_version", "id"], name="cluster_key_version")
        ),
        migrations.AddIndex(
            model_name="cluster",
            index=models.Index(
                condition=models.Q(("summary_id__isnull", False)),
                fields=["tenant", "summary_id"],
                name="cluster_summary",
            ),
        ),
        migrations.AddIndex(
            model_name="cluster",
            index=models.Index(
                condition=models.Q(("project__isnull", False)), fields=["tenant", "project"], name="cluster_project"
            ),
        ),
        migrations.AddConstraint(
            model_name="cluster", constraint=models.UniqueConstraint(fields=("tenant", "id"), name="cluster_in_tenant")
        ),
        migrations.AddConstraint(
            model_name="cluster",
            constraint=models.UniqueConstraint(fields=("tenant", "space", "topic_mac"), name="cluster_once_per_topic"),
        ),
        migrations.AddIndex(
            model_name="clustermember",
            index=models.Index(fields=["tenant", "cluster", "-memory"], name="member_newest"),
        ),
        migrations.AddConstraint(
            model_name="clustermember",
            constraint=models.UniqueConstraint(fields=("tenant", "memory"), name="member_of_one_cluster"),
        ),
    ]
