"""Tables of the app."""

import django.contrib.postgres.fields
import django.db.models.deletion
import django.db.models.manager
from django.db import migrations, models


class Migration(migrations.Migration):
    initial = True

    dependencies = [("memories", "0001_tables"), ("projects", "0001_tables"), ("tenants", "0001_tables")]

    operations = [
        migrations.CreateModel(
            name="MemoryEdge",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                ("created_at", models.DateTimeField()),
                ("type", models.CharField(max_length=32)),
                ("confidence", models.FloatField(default=1.0)),
                ("is_automatic", models.BooleanField(default=False, help_text="Found at a write; nobody stated it.")),
                ("key_version", models.IntegerField()),
                ("metadata_ct", models.BinaryField(null=True)),
                ("revision", models.IntegerField(default=0, help_text="Of what is sealed; bound into it.")),
                ("resolved_at", models.DateTimeField(null=True)),
                ("winner_id", models.BigIntegerField(help_text="Which end was found to be true.", null=True)),
                ("resolution_ct", models.BinaryField(null=True)),
                (
                    "from_memory",
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
                (
                    "to_memory",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="memories.memory",
                    ),
                ),
            ],
            options={
                "abstract": False,
                "default_manager_name": "everyone",
                "indexes": [
                    models.Index(fields=["tenant", "from_memory", "-confidence", "-id"], name="edge_out"),
                    models.Index(fields=["tenant", "to_memory", "-confidence", "-id"], name="edge_in"),
                    models.Index(fields=["tenant", "space", "-id"], name="edge_newest"),
                    models.Index(
                        condition=models.Q(("type__in", ("contradiction", "conflicts_with"))),
                        fields=["tenant", "space", "-id"],
                        name="edge_decidable",
                    ),
                    models.Index(fields=["tenant", "key_version", "id"], name="edge_key_version"),
                ],
                "constraints": [
                    models.UniqueConstraint(fields=("tenant", "from_memory", "to_memory", "type"), name="edge_once"),
                    models.CheckConstraint(
                        condition=models.Q(("from_memory", models.F("to_memory")), _negated=True), name="edge_no_loop"
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("confidence__gte", 0.0), ("confidence__lte", 1.0)), name="edge_confidence"
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            ("winner_id", None),
                            ("winner_id", models.F("from_memory")),
                            ("winner_id", models.F("to_memory")),
                            _connector="OR",
                        ),
                        name="edge_winner_is_an_end",
                    ),
                ],
            },
            managers=[("everyone", django.db.models.manager.Manager())],
        ),
        migrations.CreateModel(
            name="Ontology",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                ("created_at", models.DateTimeField()),
                (
                    "content_types",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.CharField(max_length=32), default=list, size=None
                    ),
                ),
                (
                    "relation_types",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.CharField(max_length=32), default=list, size=None
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
                "constraints": [models.UniqueConstraint(fields=("tenant",), name="ontology_once")],
            },
            managers=[("everyone", django.db.models.manager.Manager())],
        ),
    ]
