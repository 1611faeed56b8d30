"""Tables of the app."""

import django.contrib.postgres.fields
import django.db.models.deletion
import django.db.models.manager
from django.db import migrations, models


class Migration(migrations.Migration):
    initial = True

    dependencies = [("projects", "0001_tables"), ("tenants", "0001_tables")]

    operations = [
        migrations.CreateModel(
            name="HistoryTurn",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                ("created_at", models.DateTimeField()),
                ("session_mac", models.BinaryField(max_length=16)),
                ("source_mac", models.BinaryField(max_length=16)),
                ("key_mac", models.BinaryField(max_length=16, null=True)),
                ("position_mac", models.BinaryField(max_length=16, null=True)),
                ("seq", models.BigIntegerField(null=True)),
                ("key_version", models.IntegerField()),
                ("content_ct", models.BinaryField()),
                (
                    "about_ct",
                    models.BinaryField(help_text="Session, source, role and the rest of what the caller sent with it."),
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
            options={
                "abstract": False,
                "default_manager_name": "everyone",
                "indexes": [
                    models.Index(fields=["tenant", "space", "session_mac", "id"], name="turn_of_session"),
                    models.Index(fields=["tenant", "key_version", "id"], name="turn_key_version"),
                ],
                "constraints": [
                    models.UniqueConstraint(
                        condition=models.Q(("key_mac__isnull", False)),
                        fields=("tenant", "space", "key_mac"),
                        name="turn_once_per_key",
                    ),
                    models.UniqueConstraint(
                        condition=models.Q(("position_mac__isnull", False)),
                        fields=("tenant", "space", "position_mac"),
                        name="turn_once_per_position",
                    ),
                ],
            },
            managers=[("everyone", django.db.models.manager.Manager())],
        ),
        migrations.CreateModel(
            name="StateItem",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                ("created_at", models.DateTimeField()),
                ("item_mac", models.BinaryField(max_length=16)),
                ("namespace_mac", models.BinaryField(max_length=16)),
                (
                    "prefix_macs",
                    django.contrib.postgres.fields.ArrayField(base_field=models.BinaryField(max_length=16), size=None),
                ),
                ("revision", models.IntegerField(default=0, help_text="Of the value; bound into its seals.")),
                ("updated_at", models.DateTimeField()),
                ("is_indexed", models.BooleanField(default=True)),
                ("embedder", models.CharField(blank=True, max_length=48)),
                ("key_version", models.IntegerField()),
                ("item_ct", models.BinaryField(help_text="Namespace, key, source, value, text and metadata.")),
                ("embedding_ct", models.BinaryField(null=True)),
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
            options={
                "abstract": False,
                "default_manager_name": "everyone",
                "indexes": [
                    models.Index(fields=["tenant", "space", "-updated_at", "-id"], name="state_newest"),
                    models.Index(fields=["tenant", "space", "namespace_mac"], name="state_namespace"),
                    models.Index(fields=["tenant", "key_version", "id"], name="state_key_version"),
                ],
                "constraints": [
                    models.UniqueConstraint(fields=("tenant", "space", "item_mac"), name="state_item_once")
                ],
            },
            managers=[("everyone", django.db.models.manager.Manager())],
        ),
    ]
